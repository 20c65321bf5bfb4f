"""Each game is played by mouse, by keyboard and by typed text, and nothing that happens in between loses a turn."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.walks.conftest import check_looks
from tests.walks.play.beginning import begin
from tests.walks.site import Site

GAMES = {
    "game:GuessTheNumber-v0-hard": 4,
    "game:Minesweeper-v0-hard": 5,
    "game:Sokoban-v0-easy": 3,
}
"""A seed for each with which the first turns of these walks do not end the episode."""
TYPED = {
    "game:GuessTheNumber-v0-hard": "\\boxed{25}",
    "game:Minesweeper-v0-hard": "I would open \\boxed{reveal 4 4}",
    "game:Sokoban-v0-easy": "\\boxed{up}",
}


def start(page: Page, env_id: str) -> None:
    begin(page, env_id, GAMES[env_id])


def turns(page: Page) -> list[str]:
    """The actions in the history, the oldest first."""
    return page.locator("#turns li code").all_inner_texts()[::-1]


def cell(page: Page, name: str) -> object:
    return page.get_by_role("gridcell", name=name)


@pytest.mark.parametrize("env_id", GAMES)
def test_by_mouse(page: Page, env_id: str) -> None:
    start(page, env_id)
    button = page.locator("#board button.cell").first
    action = str(button.get_attribute("value"))
    button.click()
    expect(page.locator("#t1")).to_be_visible()
    assert f"\\boxed{{{turns(page)[0]}}}" == action
    expect(page.locator("[data-say]")).to_have_attribute("placeholder", action)
    expect(page.locator("#scoreline")).to_contain_text(re.compile(r"Turn\s*2"))
    check_looks(page)


def test_enter_sends_before_the_other_scripts_are_there(page: Page) -> None:
    env_id = "game:GuessTheNumber-v0-hard"
    start(page, env_id)
    held: list[Route] = []
    page.route(re.compile(r"/js/board\.[^/]*js$"), lambda route: route.continue_() if held else held.append(route))
    page.reload(wait_until="commit")
    field = page.get_by_label("Action")
    field.fill(TYPED[env_id])
    field.press("Enter")
    expect(page.locator("#t1")).to_be_visible()
    expect(field).to_have_value("")


@pytest.mark.parametrize("env_id", GAMES)
def test_by_typed_text(page: Page, env_id: str) -> None:
    start(page, env_id)
    field = page.get_by_label("Action")
    field.fill(TYPED[env_id])
    field.press("Enter")
    expect(page.locator("#t1")).to_be_visible()
    expect(field).to_have_value("")
    expect(field).to_be_focused()


def test_minesweeper_by_keyboard(page: Page) -> None:
    start(page, "game:Minesweeper-v0-hard")
    page.keyboard.press("ArrowDown")  # the first arrow goes to the board
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.get_by_role("gridcell", name="Row 3, column 3")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#t1 code")).to_have_text("reveal 3 3")
    expect(page.get_by_role("gridcell", name="Row 3, column 3")).to_be_focused()
    hidden = page.locator("#board .cell[data-tone=hidden]").first
    hidden.focus()
    page.keyboard.press("f")
    expect(page.locator("#t2 code")).to_have_text(re.compile("flag"))
    expect(page.locator("#board .cell[tabindex='0']")).to_have_count(1)


def test_minesweeper_flags_by_right_click(page: Page) -> None:
    start(page, "game:Minesweeper-v0-hard")
    page.get_by_role("gridcell", name="Row 0, column 5").click(button="right")
    expect(page.locator("#t1 code")).to_have_text("flag 0 5")
    expect(page.get_by_role("gridcell", name="Row 0, column 5")).to_have_attribute("aria-label", re.compile("flag"))


def test_sokoban_by_keyboard_loses_no_quick_key(page: Page) -> None:
    start(page, "game:Sokoban-v0-easy")
    for key in ("ArrowUp", "ArrowLeft", "ArrowRight", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    expect(page.locator("#t5")).to_be_visible(timeout=20_000)
    assert turns(page) == ["up", "left", "right", "down", "up"]


_ONE_KEY_BETWEEN_TWO_TURNS = """
() => {
  const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  document.addEventListener("htmx:wsAfterMessage", () => press("ArrowRight"), { once: true });
  press("ArrowUp");
  press("ArrowLeft");
}
"""


def test_a_key_does_not_overtake_the_one_that_waits(page: Page) -> None:
    start(page, "game:Sokoban-v0-easy")
    expect(page.locator("[data-live]")).to_be_attached()
    page.evaluate(_ONE_KEY_BETWEEN_TWO_TURNS)
    expect(page.locator("#t3")).to_be_visible()
    assert turns(page) == ["up", "left", "right"]


def test_sokoban_by_its_pad(page: Page) -> None:
    start(page, "game:Sokoban-v0-easy")
    page.get_by_role("group", name="Pad").get_by_role("button", name="left").click()
    expect(page.locator("#t1 code")).to_have_text("left")


def test_guess_the_number_by_keyboard_to_the_end(page: Page) -> None:
    start(page, "game:GuessTheNumber-v0-hard")
    for _ in range(7):
        if page.locator("#end section").count():
            break
        before = page.locator("#turns li").count()
        page.keyboard.press("h")
        page.get_by_role("button", name="Do it").press("Enter")
        expect(page.locator("#turns li")).to_have_count(before + 1)
    expect(page.locator("#end")).to_contain_text("olved")
    expect(page.get_by_label("Action")).to_have_count(0)
    expect(page.get_by_role("button", name="Play a new seed")).to_be_visible()
    page.get_by_role("button", name="Play this seed again").click()
    expect(page.locator("#turns li")).to_have_count(0)
    expect(page.locator(".chip", has_text="seed")).to_have_text(re.compile("4"))


def test_a_reload_finds_the_board_where_it_was(page: Page) -> None:
    start(page, "game:Minesweeper-v0-hard")
    page.get_by_role("gridcell", name="Row 3, column 3").click()
    expect(page.locator("#t1")).to_be_visible()
    board = page.locator("#board .board").inner_text()
    page.reload()
    assert page.locator("#board .board").inner_text() == board
    page.get_by_role("gridcell", name=re.compile("unopened")).first.click(button="right")
    expect(page.locator("#t2")).to_be_visible()


def test_the_web_process_may_be_killed_between_two_turns(page: Page, site: Site, expected: list[str]) -> None:
    expected += ["WebSocket", "ERR_CONNECTION", "htmx:", r"\[object Event\]", "/turn/"]
    start(page, "game:Minesweeper-v0-hard")
    page.get_by_role("gridcell", name="Row 3, column 3").click()
    expect(page.locator("#t1")).to_be_visible()
    site.kill("web")
    field = page.get_by_label("Action")
    field.fill("\\boxed{flag 0 0}")
    field.press("Enter")
    expect(page.locator("#toasts")).to_contain_text("The server did not answer. Nothing was changed.")
    expect(field).to_have_value("\\boxed{flag 0 0}")
    site.start_web()
    site.wait()
    field.press("Enter")
    expect(page.locator("#t2 code")).to_have_text("flag 0 0")
    assert turns(page) == ["reveal 3 3", "flag 0 0"]


def test_two_windows_of_one_person_stay_alike(page: Page, expected: list[str]) -> None:
    expected.append("status of 409|answered 409|409")
    start(page, "game:GuessTheNumber-v0-hard")
    other = page.context.new_page()
    other.goto(page.url)
    page.get_by_role("gridcell", name="10: possible").click()
    expect(other.locator("#t1")).to_be_visible()
    other.evaluate("document.getElementById('expected-seq').value = '0'")
    other.get_by_label("Action").fill("\\boxed{40}")
    other.get_by_label("Action").press("Enter")
    expect(other.get_by_role("alert")).to_contain_text("The episode has moved on.")
    expect(other.get_by_label("Action")).to_have_value("\\boxed{40}")
    other.get_by_label("Action").press("Enter")
    expect(page.locator("#t2 code")).to_have_text("40")


def test_a_slip_is_asked_about_before_it_costs_the_episode(page: Page, expected: list[str]) -> None:
    expected.append("422")
    start(page, "game:GuessTheNumber-v0-hard")
    page.get_by_label("Action").fill("25")
    page.get_by_label("Action").press("Enter")
    page.get_by_role("button", name="Send \\boxed{25}").click()
    expect(page.locator("#t1 code")).to_have_text("25")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_hint_is_ringed_and_can_be_done(page: Page) -> None:
    start(page, "game:Minesweeper-v0-hard")
    page.get_by_role("gridcell", name="Row 3, column 3").click()
    expect(page.locator("#t1")).to_be_visible()
    page.get_by_role("link", name="Hint").click()
    expect(page.locator("#board [data-hint]")).to_have_count(1)
    page.get_by_role("button", name="Do it").click()
    expect(page.locator("#t2")).to_be_visible()
    expect(page.locator("#hint .callout")).to_have_count(0)


def test_undo_goes_back_one_turn_in_a_branch(page: Page) -> None:
    start(page, "game:GuessTheNumber-v0-hard")
    address = page.url
    for number in (10, 11):
        page.get_by_role("gridcell", name=f"{number}:").click()
        expect(page.locator(f"#t{number - 9}")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    page.wait_for_url(lambda url: url != address)
    assert turns(page) == ["10"]
    expect(page.locator(".crumbs")).to_contain_text("fork of")
    expect(page.get_by_role("gridcell", name="11:")).to_be_focused()
    page.keyboard.press("u")
    expect(page.locator("#turns")).not_to_contain_text("10")
    expect(page.get_by_role("gridcell", name="11:")).to_be_focused()


def test_after_undo_the_next_action_is_typed_where_there_are_no_cells(page: Page) -> None:
    begin(page, "game:Hangman-v0-easy", 7)
    address = page.url
    page.get_by_label("Action").fill("\\boxed{e}")
    page.keyboard.press("Enter")
    expect(page.locator("#t1")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    page.wait_for_url(lambda url: url != address)
    expect(page.get_by_label("Action")).to_be_focused()


def test_everything_can_be_played_without_scripts(
    new_context: Callable[..., object], base_url: str, site: Site
) -> None:
    context = new_context(java_script_enabled=False)
    page = context.new_page()  # type: ignore[attr-defined]
    start(page, "game:Minesweeper-v0-hard")
    page.locator("#board button.cell").nth(27).click()
    expect(page.locator("#t1 code")).to_have_text("reveal 3 3")
    page.get_by_label("Action").fill("\\boxed{flag 0 0}")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#t2 code")).to_have_text("flag 0 0")


def test_a_long_press_flags_on_a_phone(browser: Browser, browser_context_args: dict[str, Any], site: Site) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = browser.new_context(**{**browser_context_args, **phone}).new_page()
    start(page, "game:Minesweeper-v0-hard")
    page.get_by_role("button", name="Press to flag").tap()
    page.get_by_role("gridcell", name="Row 0, column 0").tap()
    expect(page.locator("#t1 code")).to_have_text("flag 0 0")
    page.get_by_role("button", name="Press to flag").tap()
    page.get_by_role("gridcell", name="Row 4, column 4").dispatch_event(
        "pointerdown", {"pointerType": "touch", "bubbles": True}
    )
    expect(page.locator("#t2 code")).to_have_text("flag 4 4")


def test_the_forms_look_right_everywhere(page: Page) -> None:
    for address in ("/play/new/", "/play/watch/new/", "/play/watch/", "/episodes/"):
        page.goto(address)
        check_looks(page)
