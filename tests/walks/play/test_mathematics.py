"""Somebody answers a problem of mathematics: formulas are drawn, and the exact text is there on request."""

import re

from playwright.sync_api import Page, expect

from tests.packages import skip_without
from tests.walks.conftest import check_looks

skip_without("math_core", "math_verify")

FINISH_MS = 60_000


def test_a_problem_is_read_answered_wrongly_and_looked_at_again(page: Page, expected: list[str]) -> None:
    expected.append("status of 422")  # an answer without a box is asked about
    page.set_default_timeout(FINISH_MS)
    page.goto("/play/new/?env_id=eval:MATH500&seed=4")
    page.get_by_role("button", name="Play").click()
    board = page.locator("#board")
    expect(board.locator("math")).to_contain_text("π")
    board.get_by_text("Original text").click()
    expect(board.locator("pre")).to_contain_text("$30\\pi$")
    check_looks(page)

    field = page.get_by_label("Action", exact=True)
    field.fill("\\frac{7}{3}")
    field.press("Enter")
    expect(page.locator("#notice")).to_contain_text("\\boxed{\\frac{7}{3}}")
    page.locator("#notice").get_by_role("button", name=re.compile("boxed")).click()
    expect(page.locator("#end")).to_contain_text("Not solved", timeout=FINISH_MS)
    expect(board).to_contain_text("A correct answer: 225")
    expect(page.locator("#turns mfrac").first).to_be_visible()
    check_looks(page)

    page.get_by_role("link", name="Replay").click()
    expect(page.locator("[data-player-turn-text] math").first).to_be_visible()
    page.get_by_role("article").get_by_text("Original text").click()
    expect(page.locator("[data-player-turn-text] pre").first).to_have_text("\\boxed{\\frac{7}{3}}")
    check_looks(page)
