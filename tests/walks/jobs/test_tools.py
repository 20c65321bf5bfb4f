"""Somebody adds a tool: to an episode of their own, and to an evaluation."""

import re

from playwright.sync_api import Page, expect

from tests.packages import skip_without
from tests.walks.conftest import check_looks

skip_without("bm25s")

FINISH_MS = 60_000
GUESS = "game:GuessTheNumber-v0-easy"


def test_a_person_searches_between_two_guesses(page: Page) -> None:
    page.set_default_timeout(FINISH_MS)
    page.goto(f"/play/new/?env_id={GUESS}&seed=3")
    expect(page.get_by_label("Uses per episode")).to_be_hidden()
    page.get_by_role("checkbox", name=re.compile("search:wikigame")).check()
    page.get_by_label("Uses per episode").fill("2")
    check_looks(page)
    page.get_by_role("button", name="Play").click()
    expect(page.locator("#scoreline")).to_contain_text("0 of 2")
    search = page.locator("[data-control=search]").get_by_role("searchbox")
    search.fill("the capital of Japan")
    expect(page.get_by_label("Action", exact=True)).to_have_value("<search>the capital of Japan</search>")
    search.press("Enter")
    expect(page.locator("#scoreline")).to_contain_text("1 of 2", timeout=FINISH_MS)
    expect(page.locator("#cells .results details")).to_have_count(3)
    expect(page.locator("#cells details[open] mark").first).to_be_visible()
    check_looks(page)
    page.get_by_role("link", name="New episode").click()
    expect(page.get_by_role("checkbox", name=re.compile("search:wikigame"))).to_be_checked()
    page.get_by_label("Environment", exact=True).fill("duel:TicTacToe-v0")
    page.get_by_label("Environment", exact=True).press("Tab")
    expect(page.get_by_label("Against")).to_be_visible()
    expect(page.get_by_role("checkbox", name=re.compile("search:wikigame"))).to_have_count(0)


def test_an_evaluation_with_a_tool_is_played_and_opens_its_episodes(logged_in: Page, expected: list[str]) -> None:
    expected += ["htmx:sendAbort", "htmx:afterRequest"]  # a page is left before its fragments are there
    page = logged_in
    page.set_default_timeout(FINISH_MS)
    page.goto(f"/jobs/new/?agent=expert&benchmark=&env_id={GUESS}&episodes_per_env=5")
    expect(page.get_by_role("checkbox", name=re.compile("^mcp"))).to_be_disabled()
    page.get_by_role("checkbox", name=re.compile("search:wikigame")).check()
    expect(page.locator("#estimate")).to_contain_text("Episodes")
    check_looks(page)
    page.get_by_role("button", name="Submit evaluation").click()
    expect(page.locator("#state")).to_contain_text("done", timeout=FINISH_MS)
    expect(page.locator("aside")).to_contain_text("search:wikigame, 10 uses")
    page.locator("#last a").first.click()
    expect(page.get_by_title("Tools that the agent may use between its actions")).to_contain_text("search:wikigame")
    check_looks(page)
