"""Readers whose system has few colours of their own: boards keep theirs, and what is current is marked."""

from playwright.sync_api import Page

PAINT = "(element) => getComputedStyle(element).backgroundColor"


def test_a_board_and_the_current_place_can_be_told_apart(page: Page) -> None:
    page.emulate_media(forced_colors="active")
    page.goto("/environments/game:Sokoban-v0/")
    wall, floor = (page.locator(f".board .cell[data-tone={tone}]").first for tone in ("wall", "floor"))
    assert wall.evaluate(PAINT) != floor.evaluate(PAINT)
    current, other = (page.locator(f".bar-nav a{which}").first for which in ("[aria-current]", ":not([aria-current])"))
    assert current.evaluate(PAINT) != other.evaluate(PAINT)
