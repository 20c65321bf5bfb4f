"""The home page: what this is, and something to do at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.template.loader import render_to_string
from playwright.sync_api import Page, WebSocketRoute, expect

import gem
from gem.agents import ExpertAgent, Request
from tests.walks.conftest import check_looks
from tests.walks.page_rules import WATCH_SHIFTS, shifts
from tests.workers.processes import wait_until

if TYPE_CHECKING:
    from apps.accounts.models import User


MORPH = """async (board) => {
  Idiomorph.morph(document.querySelector("#showcase .stage"), board, { morphStyle: "innerHTML" });
  document.querySelector("#showcase").dispatchEvent(
    new CustomEvent("htmx:wsAfterMessage", { bubbles: true, detail: { message: "" } }),
  );
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
}"""
"""A turn arrives: the board is changed as the socket changes it, and drawn."""


def ignore(_socket: WebSocketRoute) -> None:
    """Answers nothing: what the expert plays meanwhile would be drawn in place of the test's boards."""


def views_of(env_id: str) -> Iterator[Any]:
    """What is seen of an episode of the expert after each of its turns."""
    env, expert = gem.make(env_id), ExpertAgent()
    observation, info = env.reset(seed=7)
    yield env.view()
    for turn in range(env.max_turns or 0):
        (decision,) = expert.act([Request(env, observation, info, turn)])
        observation, _, terminated, truncated, info = env.step(decision.action)
        yield env.view()
        if terminated or truncated:
            return


def test_a_click_on_the_board_begins_an_episode_and_plays_the_first_turn(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement === document.body"), "arrow keys scroll the page"
    page.locator("#play-now [role=gridcell]").nth(12).click()
    page.wait_for_url("**/episodes/**")
    expect(page.locator("#turns li").first).to_contain_text("1")


def test_an_expert_plays_live_while_somebody_looks(page: Page) -> None:
    page.goto("/")
    card = page.locator("#showcase")
    expect(card).to_be_visible()
    before = card.inner_text()
    expect(card).not_to_have_text(before, timeout=20_000)


def test_the_leaderboard_and_the_jobs_arrive_and_it_looks_right(page: Page) -> None:
    page.goto("/")
    expect(page.locator(".waiting")).to_have_count(0)
    expect(page.get_by_role("main")).to_contain_text("expert")
    check_looks(page)


def test_the_theme_is_chosen_and_kept(page: Page) -> None:
    page.emulate_media(color_scheme="light")
    page.goto("/")
    page.get_by_role("button", name="Switch between light and dark").click()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_a_slash_goes_to_the_search_field(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("/")
    page.keyboard.type("game:Sokoban-v0-easy")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("game:Sokoban-v0-easy")


def test_a_slash_goes_to_the_page_of_the_search_where_the_field_has_no_room(page: Page) -> None:
    page.set_viewport_size({"width": 800, "height": 900})
    page.goto("/")
    page.keyboard.press("/")
    page.wait_for_url("**/search/")


def test_it_works_without_scripts(browser: object, base_url: str) -> None:
    context = browser.new_context(java_script_enabled=False, base_url=base_url)  # type: ignore[attr-defined]
    page: Page = context.new_page()
    page.goto("/")
    page.locator("#play-now [role=gridcell]").nth(12).click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert "/episodes/" in page.url
    context.close()


def test_who_runs_the_site_sees_what_each_part_runs_on(logged_in: Page, person: User) -> None:
    person.is_staff = person.is_superuser = True
    person.save()
    wait_until(lambda: logged_in.request.get("/health.json").ok, "every part of the site works")
    logged_in.goto("/health/")
    expect(logged_in.get_by_text(re.compile(r"process \d+, \d+ s ago")).first).to_be_visible()
    check_looks(logged_in)


def test_a_dialogue_grows_in_its_place(page: Page) -> None:
    page.add_init_script(WATCH_SHIFTS)
    page.route_web_socket("**/*", ignore)
    page.goto("/")
    expect(page.locator(".waiting")).to_have_count(0)
    for view in views_of("duel:Negotiation-v0"):
        board = render_to_string("boards/chat.html", {"view": view, "size": "s", "acting": False})
        page.evaluate(MORPH, board)
    assert page.locator("#showcase .messages li").count() > 4
    assert shifts(page) == []


def test_the_chosen_tab_is_in_sight_on_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/studies/tools/")
    expect(page.get_by_role("navigation", name="Studies").get_by_text("Using Python")).to_be_in_viewport(ratio=0.9)
