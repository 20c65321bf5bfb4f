"""How a view is drawn."""

import re
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.utils.html import escape

import gem
from apps.episodes.templatetags.episodes import board_template
from gem import registry
from gem.views import Cell, ChatView, CodeTest, CodeView, GridView, ImageView, Key, Message, Picture, TextView
from tests.engine.ids import kinds
from tests.html import tight

NASTY = "\"><script>alert('x')</script>&amp;"
IDS = [env_id for env_id in kinds() if registry.spec(env_id).cost == "fast"]


def test_nothing_in_a_view_becomes_markup() -> None:
    cell = Cell(tone="open", label=NASTY, text=NASTY, act=NASTY, alt=NASTY)
    view = GridView(kind="grid", name=NASTY, rows=[[cell]], keys={NASTY: NASTY})
    for acting in (True, False):
        html = render_to_string("boards/grid.html", {"view": view, "acting": acting})
        assert "<script" not in html
    html = render_to_string("boards/text.html", {"view": TextView(kind="text", name=NASTY, text=NASTY)})
    assert "<script" not in html
    pictures = [Picture(src=NASTY, label=NASTY)]
    image = ImageView(kind="image", name=NASTY, text=NASTY, pictures=pictures)
    test = CodeTest(label=NASTY, status="failed", words=NASTY, given=NASTY, wanted=NASTY, got=NASTY, said=NASTY)
    code = CodeView(kind="code", name=NASTY, text=NASTY, code=NASTY, tests=[test], verdict=NASTY)
    for picture in (True, False):
        html = render_to_string("boards/image.html", {"view": image, "picture": picture})
        html += render_to_string("boards/code.html", {"view": code, "picture": picture})
        assert "<script" not in html


def board(env_id: str, *, acting: bool) -> tuple[gem.views.View, str]:
    """A view and its HTML, drawn by the template of its kind."""
    env = gem.make(env_id)
    env.reset(seed=3)
    view = env.view()
    html = render_to_string(board_template(view), {"view": view, "acting": acting, "picture": not acting})
    return view, tight(html)


@pytest.mark.parametrize("env_id", IDS)
def test_an_acting_board_can_be_played_by_keyboard(env_id: str) -> None:
    """A grid moves one tab stop with the arrow keys; letters, towers and links are buttons in the tab order.

    A text is answered in the page's field, which is always there; so is what is said in a conversation.

    What takes several picks says what to pick next, aloud, and every pick is a button.
    """
    view, html = board(env_id, acting=True)
    KINDS[view["kind"]](view, html)
    if view["kind"] in ("text", "image", "code"):
        return
    if "compose" in view:
        assert html.count('role="status" data-prompt') == 1
        assert f'data-picks="{" ".join(view["compose"]["picks"])}"' in html
        for tag in re.findall(r"<[^>]*data-part=[^>]*>", html):
            assert tag.startswith("<button")
            assert 'type="button"' in tag, "a pick sends nothing by itself"
            assert "aria-label=" in tag
    assert "data-part=" in html or 'name="act" value="\\boxed{' in html
    assert html.count("data-acting") == 1, "the page's script finds one board"


def check_grid(view: Any, html: str) -> None:
    assert html.count('role="grid"') == 1
    assert html.count('tabindex="0"') == 1, "one cell is in the tab order; the arrow keys move it"
    cells = sum(map(len, view["rows"]))
    assert html.count('role="gridcell"') == cells
    assert (
        len(re.findall(r'<[^>]*role="gridcell"[^>]*aria-label="|<[^>]*aria-label="[^>]*role="gridcell"', html)) == cells
    )
    if any(cell.get("piece") == "player" for row in view["rows"] for cell in row):
        assert re.search(r'<[^>]*data-player[^>]*tabindex="0"', html), "Tab leads to the player, not to a wall"


def check_letters(view: Any, html: str) -> None:
    keys = re.findall(r'<button class="key"[^>]*data-cap="([^"]*)"[^>]*aria-label="[^"]+"', html)
    assert keys == [key["text"] for row in view["keys"] for key in row], "every key is a button with a name"
    assert 'data-does="send"' in html
    assert 'data-does="delete"' in html
    assert "tabindex" not in html, "buttons are in the tab order as they stand"


def check_towers(view: Any, html: str) -> None:
    towers = re.findall(
        r'<button class="tower"[^>]*data-cap="(.)"[^>]*aria-pressed="false"[^>]*aria-label="[^"]+"', html
    )
    assert towers == [tower["text"] for tower in view["towers"]], "every tower is a button, also reached by its letter"
    assert "tabindex" not in html


def check_links(view: Any, html: str) -> None:
    assert html.count('<button class="link" type="submit" form="say" name="act"') == len(view["links"])
    assert '<ul class="links" aria-label=' in html
    assert "tabindex" not in html


def check_text(view: Any, html: str) -> None:
    assert "<button" not in html
    assert escape(view["text"]) in html


def check_image(view: Any, html: str) -> None:
    check_text(view, html)
    for picture in view["pictures"]:
        assert picture["src"].startswith("data:image/png;base64,")
        assert html.count(f'<img src="{picture["src"]}" alt="{picture["label"]}">') == 1


def check_code(view: Any, html: str) -> None:
    check_text(view, html)
    assert view["tests"] == []
    assert "<details" not in html


def test_a_program_is_shown_with_its_tests_and_the_first_failure_is_open() -> None:
    tests = [
        CodeTest(label=f"Test {n}: {words}", status=status, words=words, given="1 < 2", wanted="3", got="", said="")
        for n, (status, words) in enumerate((("passed", "passed"), ("failed", "wrong answer"), ("failed", "error")), 1)
    ]
    view = CodeView(
        kind="code", name="Sum", text="Add", code="print(1)\nprint(2)", tests=tests, verdict="1 of 3 passed"
    )
    html = tight(render_to_string("boards/code.html", {"view": view}))
    assert re.findall(r"<details[^>]*>", html) == [
        '<details class="tool" data-status="passed">',
        '<details class="tool" data-status="failed" open>',
        '<details class="tool" data-status="failed">',
    ]
    assert "1 &lt; 2" in html
    assert "print(1)\nprint(2)</pre>" in html
    assert "nothing</pre>" in html
    picture = tight(render_to_string("boards/code.html", {"view": view, "picture": True}))
    assert picture.count("data-status=") == 3
    assert 'role="img" aria-label="Sum"' in picture


def check_chat(view: Any, html: str) -> None:
    assert html.count('tabindex="0"') == 2, "long talks and notes scroll, so they are in the tab order and have names"
    assert '<ol class="messages" tabindex="0" aria-label="Messages"' in html
    assert html.count("data-side=") == len(view["messages"])
    for heading, _ in view["notes"]:
        assert f'aria-label="{heading}"' in html


KINDS = {
    "code": check_code,
    "image": check_image,
    "text": check_text,
    "grid": check_grid,
    "letters": check_letters,
    "towers": check_towers,
    "links": check_links,
    "chat": check_chat,
}


@pytest.mark.parametrize("env_id", IDS)
def test_a_picture_has_one_name_and_nothing_to_press(env_id: str) -> None:
    view, html = board(env_id, acting=False)
    assert "<button" not in html
    if view["kind"] == "text":
        assert html.count("aria-label") == 1, "a long text scrolls, so it is in the tab order and has a name"
        return
    assert html.count('role="img"') == html.count("aria-label") == 1
    assert "tabindex" not in html
    assert "data-acting" not in html


def test_the_hinted_cell_is_ringed_for_either_verb() -> None:
    cells = [Cell(tone="hidden", label="a", act="open", alt="flag"), Cell(tone="hidden", label="b", act="other")]
    view = GridView(kind="grid", name="Two", rows=[cells])
    for hint, rings in (("open", 1), ("flag", 1), ("none", 0), ("", 0)):
        html = render_to_string("boards/grid.html", {"view": view, "acting": True, "hint": hint})
        assert html.count("data-hint") == rings


def test_a_conversation_shows_who_says_what_and_nothing_in_it_becomes_markup() -> None:
    view = ChatView(
        kind="chat",
        name=NASTY,
        messages=[Message(who=NASTY, side="other", text=NASTY)],
        keys=[[Key(text=NASTY, label=NASTY, act=NASTY)]],
        notes=[(NASTY, [NASTY])],
    )
    for acting in (True, False):
        html = render_to_string("boards/chat.html", {"view": view, "acting": acting})
        assert "<script" not in html
        assert html.count('data-side="other"') == 1
        assert html.count("<button") == acting


@pytest.mark.parametrize("env_id", ["dialogue:Retail-v0", "duel:Negotiation-v0"])
def test_what_can_be_said_at_once_is_a_button(env_id: str) -> None:
    env = gem.make(env_id)
    env.reset(seed=3)
    html = render_to_string("boards/chat.html", {"view": env.view(), "acting": True})
    assert html.count("<button") == html.count('class="key"') >= 3
    assert "\\boxed{" in html
    picture = render_to_string("boards/chat.html", {"view": env.view(), "picture": True})
    assert "<button" not in picture
