"""How a view is drawn."""

import pytest
from django.template.loader import render_to_string

import gem
from gem import registry
from gem.views import Cell, GridView, TextView
from tests.engine.ids import played

NASTY = "\"><script>alert('x')</script>&amp;"
IDS = [env_id for env_id in played() if registry.spec(env_id).cost == "fast"]


def test_nothing_in_a_view_becomes_markup() -> None:
    cell = Cell(tone="open", label=NASTY, text=NASTY, act=NASTY, alt=NASTY)
    view = GridView(kind="grid", name=NASTY, rows=[[cell]], keys={NASTY: NASTY})
    for acting in (True, False):
        html = render_to_string("boards/grid.html", {"view": view, "acting": acting})
        assert "<script" not in html
    html = render_to_string("boards/text.html", {"view": TextView(kind="text", name=NASTY, text=NASTY)})
    assert "<script" not in html


@pytest.mark.parametrize("env_id", IDS)
def test_an_acting_board_is_a_grid_with_one_cell_in_the_tab_order(env_id: str) -> None:
    env = gem.make(env_id)
    env.reset(seed=3)
    html = render_to_string("boards/grid.html", {"view": env.view(), "acting": True})
    assert html.count('role="grid"') == 1
    assert html.count('tabindex="0"') == 1
    assert html.count('role="gridcell"') == html.count("aria-label") - 1 - html.count('class="pad"') * 5
    assert 'name="act" value="\\boxed{' in html


@pytest.mark.parametrize("env_id", IDS)
def test_a_picture_has_one_name_and_nothing_to_press(env_id: str) -> None:
    env = gem.make(env_id)
    env.reset(seed=3)
    html = render_to_string("boards/grid.html", {"view": env.view()})
    assert html.count('role="img"') == html.count("aria-label") == 1
    assert "<button" not in html
    assert "tabindex" not in html


def test_the_hinted_cell_is_ringed_for_either_verb() -> None:
    cells = [Cell(tone="hidden", label="a", act="open", alt="flag"), Cell(tone="hidden", label="b", act="other")]
    view = GridView(kind="grid", name="Two", rows=[cells])
    for hint, rings in (("open", 1), ("flag", 1), ("none", 0), ("", 0)):
        html = render_to_string("boards/grid.html", {"view": view, "acting": True, "hint": hint})
        assert html.count("data-hint") == rings
