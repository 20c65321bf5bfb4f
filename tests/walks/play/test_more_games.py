"""The other games: actions of several picks, letters, towers, sliding and links, by mouse and by keyboard."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.walks.conftest import check_looks
from tests.walks.play.beginning import begin

OTHERS = ["game:FifteenPuzzle-v0-hard", "game:Hangman-v0-hard", "game:Mastermind-v0-hard"]
"""The games that no walk below plays."""


def expect_turn(page: Page, number: int, action: str) -> None:
    expect(page.locator(f"#t{number} code")).to_have_text(action)


def test_a_word_is_marked_by_its_two_ends(page: Page) -> None:
    begin(page, "game:WordSearch-v0-hard")
    page.get_by_role("link", name="Hint").click()
    ends = page.locator("#board .cell[data-hint]")
    expect(ends).to_have_count(2)
    expected = [ends.nth(end).get_attribute("data-part") for end in (0, 1)]
    first, last = ends.element_handles()
    first.click()
    expect(page.get_by_label("Action")).to_have_value(f"\\boxed{{{expected[0]} ")
    expect(page.locator("#board .cell[aria-selected=true]")).to_have_count(1)
    expect(page.locator("#board [data-prompt]")).to_have_text("Choose its last letter")
    last.click()
    expect_turn(page, 1, f"{expected[0]} {expected[1]}")
    expect(page.locator("#scoreline")).to_contain_text(re.compile(r"Reward so far\s*0\.200"))
    expect(page.locator("#board .answer")).to_contain_text("You found")
    check_looks(page)


def test_a_pick_is_put_back(page: Page) -> None:
    begin(page, "game:WordSearch-v0-hard")
    cell = page.locator("#board button.cell").first
    cell.click()
    page.keyboard.press("Escape")
    expect(page.get_by_label("Action")).to_have_value("")
    expect(page.locator("#board .cell[aria-selected=true]")).to_have_count(0)
    expect(page.locator("#turns li")).to_have_count(0)


def test_sudoku_by_keyboard(page: Page) -> None:
    begin(page, "game:Sudoku-v0-hard")
    page.keyboard.press("ArrowDown")
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    at = page.locator("#board .cell:focus")
    place = at.get_attribute("data-part") if at.evaluate("cell => 'part' in cell.dataset") else None
    while place is None:
        page.keyboard.press("ArrowRight")
        place = page.evaluate("document.activeElement.dataset.part ?? null")
    page.keyboard.press("4")
    expect_turn(page, 1, f"{place} 4")
    expect(page.locator("#board .cell[tabindex='0']")).to_have_count(1)
    check_looks(page)


def test_crosswords_by_a_cell_and_a_letter(page: Page) -> None:
    begin(page, "game:Crosswords-v0-hard")
    cell = page.locator("#board button.cell").first
    place = cell.get_attribute("data-part")
    cell.click()
    page.keyboard.press("h")  # a letter here, not the hint
    expect_turn(page, 1, f"{place} H")
    expect(page.locator("#hint .callout")).to_have_count(0)
    page.keyboard.press("?")
    expect(page.locator("#hint .callout")).to_have_count(1)
    check_looks(page)


def test_wordle_by_keyboard(page: Page) -> None:
    begin(page, "game:Wordle-v0-hard")
    page.keyboard.type("crate")
    page.keyboard.press("Backspace")
    page.keyboard.press("Backspace")
    page.keyboard.press("?")
    expect(page.locator("#hint .callout")).to_have_count(1)  # it leaves the letters that are there
    page.keyboard.type("ne")
    expect(page.get_by_label("Action")).to_have_value("\\boxed{CRANE}")
    page.keyboard.press("Enter")
    expect_turn(page, 1, "CRANE")
    expect(page.get_by_role("button", name=re.compile("^C,"))).to_have_attribute("data-tone", "miss")
    for letter in "moist":
        page.get_by_role("button", name=re.compile(f"^{letter.upper()}(,|$)")).click()
    page.get_by_role("button", name="Enter", exact=True).click()
    expect_turn(page, 2, "MOIST")
    check_looks(page)


def test_hanoi_by_clicks_and_letters(page: Page) -> None:
    begin(page, "game:TowerofHanoi-v0-hard")
    page.get_by_role("button", name=re.compile("^Tower A")).click()
    expect(page.get_by_role("button", name=re.compile("^Tower A"))).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name=re.compile("^Tower C")).click()
    expect_turn(page, 1, "A C")
    page.keyboard.press("a")
    page.keyboard.press("b")
    expect_turn(page, 2, "A B")
    check_looks(page)


def test_2048_by_arrow_keys_loses_no_quick_key(page: Page) -> None:
    begin(page, "game:Game2048-v0-hard")
    for key in ("ArrowLeft", "ArrowDown", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    for number, action in enumerate(("left", "down", "right", "down"), 1):
        expect_turn(page, number, action)
    check_looks(page)


def test_wiki_game_by_its_links(page: Page) -> None:
    begin(page, "game:WikiGame-v0-hard")
    link = page.get_by_role("list", name="Links of this page").get_by_role("button").first
    words = link.inner_text()
    link.click()
    expect_turn(page, 1, words)
    expect(page.locator("#board .answer")).to_contain_text("You are on the page")
    check_looks(page)


def test_the_pages_of_the_others_look_right_everywhere(page: Page) -> None:
    for env_id in OTHERS:
        begin(page, env_id)
        page.get_by_role("link", name="Hint").click()
        page.get_by_role("button", name="Do it").click()
        expect(page.locator("#t1")).to_be_visible()
        check_looks(page)
