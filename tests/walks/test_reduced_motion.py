"""Somebody for whom nothing should move: the same things happen, at once."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

from tests.walks.conftest import listen
from tests.walks.site import Site

_MOVING = """
() => document.getAnimations()
  .filter((one) => one.playState === "running" && one.effect.getComputedTiming().duration > 0)
  .map((one) => `${one.animationName ?? one.transitionProperty}: ${one.effect.target.outerHTML.slice(0, 120)}`)
"""


def still(page: Page) -> None:
    """Nothing moves, and nothing scrolls smoothly."""
    assert page.evaluate(_MOVING) == [], page.url
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"


def test_nothing_moves_and_everything_happens(
    new_context: Callable[..., BrowserContext], base_url: str, site: Site
) -> None:
    page = new_context().new_page()  # which wants nothing to move, as all of these walks
    complaints: list[str] = []
    listen(page, complaints)
    page.goto("/play/new/?env_id=game:Minesweeper-v0-hard&seed=5")
    page.get_by_role("main").get_by_role("button", name="Play", exact=True).click()
    expect(page.locator("[data-live]")).to_be_attached()
    page.get_by_role("gridcell", name="Row 3, column 3").click()
    expect(page.locator("#t1")).to_be_visible()
    still(page)
    last = page.locator("#board .cell[data-last]").first
    assert last.evaluate("(cell) => getComputedStyle(cell).boxShadow") != "none", "a ring says what changed"
    page.goto("/play/watch/new/?env_id=game:Sokoban-v0-easy")
    page.get_by_role("main").get_by_role("button", name="Watch").click()
    expect(page.locator("#turns li").first).to_be_attached()
    still(page)
    page.goto("/episodes/?source=all&outcome=won")
    page.locator("main tbody a[href^='/episodes/']").first.click()
    expect(page.get_by_role("slider", name="Turn")).to_be_visible()
    page.wait_for_load_state()  # the scripts that hear the keys
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".scrub [data-player-at]")).to_have_text("1")
    still(page)
    assert complaints == []
