"""Readers whose system or paper has few colours of its own: boards keep theirs, and what is current is marked."""

from playwright.sync_api import Page

PAINT = "(element) => getComputedStyle(element).backgroundColor"


def test_a_board_and_the_current_place_can_be_told_apart(page: Page) -> None:
    page.emulate_media(forced_colors="active")
    page.goto("/environments/game:Sokoban-v0/")
    wall, floor = (page.locator(f".board .cell[data-tone={tone}]").first for tone in ("wall", "floor"))
    assert wall.evaluate(PAINT) != floor.evaluate(PAINT)
    current, other = (page.locator(f".bar-nav a{which}").first for which in ("[aria-current]", ":not([aria-current])"))
    assert current.evaluate(PAINT) != other.evaluate(PAINT)


def test_what_is_printed_is_dark_on_white_and_boards_keep_their_colours(page: Page) -> None:
    page.goto("/environments/game:Sokoban-v0/")
    page.get_by_role("button", name="Switch between light and dark").click()
    ink = "getComputedStyle(document.body).color"
    on_screen = page.evaluate(ink)
    page.emulate_media(media="print")
    assert page.evaluate(ink) != on_screen
    wall = page.locator(".board .cell[data-tone=wall]").first
    assert wall.evaluate("(element) => getComputedStyle(element).printColorAdjust") == "exact"
