"""A replay: every turn by scrubber, keys, links and address, at once and without a request."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.walks.conftest import check_looks, move
from tests.walks.site import Site


@pytest.fixture
def address(site: Site) -> str:
    """An episode that the expert solved."""
    from apps.agents.models import Agent
    from apps.episodes import operations
    from apps.episodes.restore import restore
    from gem.agents import Request, make_agent

    expert = make_agent("expert")
    seats = [operations.Occupant(Agent.objects.get(slug="expert"))]
    episode = operations.begin("game:Minesweeper-v0-hard", seed=8, seats=seats)
    while not episode.over:
        env = restore(episode)
        (decision,) = expert.act([Request(env, "", {}, episode.turn_count + 1)])
        operations.record_turn(episode, env, decision.action, extra_info={"note": decision.note})
    return episode.get_absolute_url()


def turn(page: Page) -> str:
    return page.locator(".scrub [data-player-at]").inner_text()


def test_keys_and_buttons_go_from_turn_to_turn(page: Page, address: str) -> None:
    page.goto(address)
    check_looks(page)
    last = int(turn(page))
    assert last > 5
    page.keyboard.press("ArrowLeft")
    assert turn(page) == str(last - 1)
    page.keyboard.press("Home")
    assert turn(page) == "0"
    expect(page.locator("[data-player-turn-text]")).to_contain_text("Instructions")
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-player-turn-text] .action")).to_be_visible()
    page.get_by_role("link", name="Next turn").click()
    assert turn(page) == "2"
    page.keyboard.press("End")
    assert turn(page) == str(last)
    expect(page.locator("[data-player-total]")).to_have_text("1.000")


def test_the_address_follows_and_opens_the_same_turn(page: Page, address: str) -> None:
    page.goto(address)
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"/turns/2/$"))
    board = page.locator("#board .board").inner_text()
    page.reload()
    assert turn(page) == "2"
    assert page.locator("#board .board").inner_text() == board
    expect(page.locator("#t2")).to_have_attribute("aria-current", "step")


def test_scrubbing_asks_the_server_nothing(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_load_state("networkidle")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    turns = page.evaluate(
        """async () => {
          const scrubber = document.getElementById("scrub");
          for (let turn = 0; turn <= Number(scrubber.max); turn += 1) {
            scrubber.value = turn;
            scrubber.dispatchEvent(new Event("input", { bubbles: true }));
            await Promise.resolve();
          }
          return Number(scrubber.max);
        }"""
    )
    assert turns > 0
    assert asked == []


def test_it_plays_by_itself(page: Page, address: str) -> None:
    move(page)
    page.goto(f"{address}turns/0/")
    page.get_by_label("Speed").select_option("2")
    page.locator("body").press(" ")
    expect(page.locator(".scrub [data-player-at]")).to_have_text(re.compile(r"^[1-9]\d*$"))
    page.get_by_role("button", name="Pause").click()
    at = turn(page)
    page.wait_for_timeout(600)
    assert turn(page) == at


def test_a_row_and_a_bar_open_their_turn(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_role("link", name="Turn 3", exact=True).click()
    assert turn(page) == "3"
    page.locator("[data-strip='2']").click()
    assert turn(page) == "2"
    expect(page.locator("[data-player-json]")).to_have_attribute("href", re.compile(r"/turns/2/raw\.json$"))


def test_the_server_verifies_it(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_role("button", name="Verify").click()
    expect(page.locator("#verdict")).to_contain_text("Identical in all")


def test_one_plays_on_from_any_turn(page: Page, address: str) -> None:
    page.goto(address)
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"/turns/1/$"))
    page.get_by_role("button", name="Fork from here").click()
    expect(page.get_by_label("Action")).to_be_visible()
    expect(page.locator("#turns li")).to_have_count(1)
    page.locator("#board button.cell[data-alt]").first.click(button="right")
    expect(page.locator("#t2")).to_be_visible()


def test_it_can_be_read_without_scripts(new_context: Callable[..., object], address: str) -> None:
    page = new_context(java_script_enabled=False).new_page()  # type: ignore[attr-defined]
    page.goto(f"{address}turns/2/")
    page.get_by_role("link", name="Next turn").click()
    assert turn(page) == "3"


def test_the_seed_is_copied_by_a_click(page: Page, address: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(address)
    page.get_by_role("button", name="Copy seed 8").click()
    expect(page.locator("#toasts")).to_contain_text("Copied 8")
    assert page.evaluate("navigator.clipboard.readText()") == "8"
