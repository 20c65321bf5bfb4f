"""Two agents, or a person and an agent, side by side on one seed: live for everybody, then a replay of both."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.walks.conftest import check_looks

SOKOBAN = "game:Sokoban-v0-easy"
GUESS = "game:GuessTheNumber-v0-hard"


def begin(page: Page, env_id: str, first: str, second: str, *, seed: int = 8, pace: str = "0.25") -> str:
    """Start a duel by the form; returns its address."""
    page.goto(f"/play/duel/new/?env_id={env_id}")
    page.get_by_label("Left", exact=True).select_option(first)
    page.get_by_label("Right", exact=True).select_option(second)
    page.get_by_label("Seed", exact=True).fill(str(seed))
    page.get_by_label("Pace", exact=True).select_option(pace)
    page.get_by_role("button", name="Start duel").click()
    expect(page.locator(".duel-agent")).to_have_count(2)
    return page.url


def side(page: Page, slot: int) -> Locator:
    return page.locator(f'.duel-agent[data-slot="{slot}"]')


def counts(page: Page) -> list[int]:
    return [int(count) for count in (page.locator("#show-state").get_attribute("data-counts") or "").split()]


def test_two_agents_play_and_spectators_see_the_verdict(page: Page, second_page: Callable[[], Page]) -> None:
    address = begin(page, GUESS, "expert", "random", seed=7, pace="5")  # so that the second page comes before the end
    other = second_page()
    other.goto(address)
    expect(page.locator("#spectators")).to_have_text("2 watching")
    page.get_by_label("Pace", exact=True).select_option("0.25")
    for watcher in (page, other):
        expect(watcher.locator("#verdict")).to_contain_text("expert wins.", timeout=30_000)
        expect(side(watcher, 0)).to_contain_text("Solved")
        expect(side(watcher, 1)).to_contain_text("Turn limit")
        expect(watcher.locator("#live-badge")).to_have_text("ended just now")
    expect(page.locator(".duel-agent[data-winner]")).to_have_count(1)


def test_agents_play_in_step(page: Page) -> None:
    begin(page, SOKOBAN, "random", "random")
    seen = set()
    while max(now := counts(page)) < 6:
        seen.add(max(now) - min(now))
        page.wait_for_timeout(100)
    assert seen <= {0, 1}


def test_one_scrubber_moves_both_boards_and_the_address_follows(page: Page) -> None:
    begin(page, SOKOBAN, "expert", "random", pace="0.25")
    expect(page.locator("#verdict")).to_contain_text("expert wins.", timeout=30_000)
    check_looks(page)
    boards = [side(page, slot).locator("[data-now] .board").inner_html() for slot in (0, 1)]
    page.get_by_role("link", name="First turn").click()
    for slot in (0, 1):
        expect(side(page, slot).locator("[data-side-turn]")).to_have_text("0")
    starts = {side(page, slot).locator("[data-past] .board").inner_html() for slot in (0, 1)}
    assert len(starts) == 1
    assert starts.isdisjoint(boards)
    page.get_by_role("link", name=re.compile("^Go to turn")).click()
    expect(page).to_have_url(re.compile(r"\?turn=[1-9]\d*$"))
    for slot in (0, 1):
        expect(side(page, slot).locator("[data-side-turn]")).not_to_have_text("0")
    shown = [side(page, slot).locator("[data-past] .board").inner_html() for slot in (0, 1)]
    page.reload()
    assert [side(page, slot).locator("[data-past] .board").inner_html() for slot in (0, 1)] == shown
    page.get_by_role("link", name="Last turn").click()
    expect(side(page, 0).locator("[data-now]")).to_be_visible()
    expect(side(page, 0).locator("[data-past]")).to_be_hidden()


def test_it_is_paused_stepped_and_let_free(page: Page, second_page: Callable[[], Page]) -> None:
    address = begin(page, SOKOBAN, "random", "random", pace="0.5")
    page.get_by_role("button", name="Pause").first.click()
    expect(side(page, 0)).to_contain_text("paused")
    expect(side(page, 1)).to_contain_text("paused")
    before = counts(page)
    page.get_by_role("button", name="One turn").click()
    expect(page.locator("#show-state")).to_have_attribute("data-counts", " ".join(str(n + 1) for n in before) + " ")
    page.get_by_role("button", name="Free").click()
    expect(page.get_by_role("button", name="Free")).to_have_attribute("aria-pressed", "true")
    other = second_page()
    other.goto(address)
    expect(other.get_by_role("button", name="One turn")).to_have_count(0)
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#verdict")).to_contain_text("No verdict")


def test_another_agent_joins_the_same_seed(page: Page, second_page: Callable[[], Page]) -> None:
    address = begin(page, SOKOBAN, "expert", "random", pace="1")
    other = second_page()
    other.goto(address)
    page.get_by_text("Add an agent").click()
    page.get_by_label("Agent to play the same seed").select_option("random")
    page.get_by_role("button", name="Add", exact=True).click()
    for watcher in (page, other):
        expect(watcher.locator(".duel-agent")).to_have_count(3)
        expect(side(watcher, 2)).to_contain_text("random 2")


def test_a_person_races_an_agent_that_waits_for_each_turn(
    page: Page, second_page: Callable[[], Page], expected: list[str]
) -> None:
    expected.append("status of 422")  # a text without an action is asked about before it is sent
    address = begin(page, GUESS, "you", "expert", seed=2, pace="0.25")
    spectator = second_page()
    spectator.goto(address)
    expect(side(page, 1)).to_contain_text("waiting for you")
    assert counts(page) == [0, 0]
    page.get_by_role("gridcell", name="10: possible").click()
    expect(page.locator("#show-state")).to_have_attribute("data-counts", "1 1 ")
    expect(page.locator("#board")).to_be_visible()
    expect(side(page, 1).locator("[data-now] .board")).to_be_hidden()
    check_looks(page)
    page.get_by_role("button", name="Cover the other boards").click()
    expect(side(page, 1).locator("[data-now] .board")).to_be_visible()
    expect(spectator.locator("#show-state")).to_have_attribute("data-counts", "1 1 ")
    expect(spectator.get_by_label("Action", exact=True)).to_have_count(0)
    page.get_by_label("Action", exact=True).fill("no action at all")
    page.get_by_label("Action", exact=True).press("Enter")
    page.get_by_role("button", name="Send as written").click()
    expect(page.locator("#end")).to_contain_text("Not solved")
    expect(page.locator("#verdict")).to_contain_text("expert wins.", timeout=20_000)


def test_pages_lead_to_it(page: Page) -> None:
    page.goto(f"/environments/{SOKOBAN}/")
    page.get_by_role("link", name="Compare two agents").click()
    expect(page.get_by_label("Environment", exact=True)).to_have_value(SOKOBAN)
    address = begin(page, GUESS, "random", "random", seed=77)
    expect(page.locator("#live-badge")).to_have_text("ended just now", timeout=30_000)
    side(page, 0).get_by_role("link").first.click()
    page.get_by_role("link", name="Race the random agent on this seed").click()
    expect(page.get_by_label("Seed", exact=True)).to_have_value("77")
    expect(page.get_by_label("Left", exact=True)).to_have_value("you")
    page.goto(address)
    side(page, 1).get_by_role("link").first.click()
    page.get_by_role("link", name="Side by side").first.click()
    expect(page.locator(".duel-agent")).to_have_count(2)
    page.get_by_role("link", name="its duel").count()
