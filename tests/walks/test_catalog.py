"""The catalog: find an environment, read its page, go on from there."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.template.loader import render_to_string
from django.test import RequestFactory
from playwright.sync_api import BrowserContext, Page, expect

import gem.registry
from tests.walks.accessibility import overflow
from tests.walks.conftest import check_looks, in_every_look

SPECS = gem.registry.specs()
GAMES = sum(spec.category == "game" for spec in SPECS)
KINDS = list({(spec.category, spec.board): spec.id for spec in reversed(SPECS)}.values())
"""One of each kind and board; `tests/apps/catalog/test_pages.py` asks for the page of every one."""
CLASSES = sorted({spec.entry_point: spec.id for spec in reversed(SPECS)}.values())


def test_words_narrow_the_list_and_stand_in_the_address(page: Page, expected: list[str]) -> None:
    expected += ["htmx:sendAbort", "htmx:afterRequest"]  # a letter that comes late takes the place of a request
    page.goto("/environments/")
    page.get_by_label("Search by name or rule").press_sequentially("minesw")
    expect(page.locator(".family")).to_have_count(1)
    expect(page).to_have_url("/environments/?q=minesw&sort=name")
    page.reload()
    expect(page.locator(".family h3")).to_have_text("Minesweeper")


def test_a_choice_narrows_the_list_and_the_way_back_undoes_it(page: Page) -> None:
    page.goto("/environments/")
    everything = page.locator(".variant").count()
    page.get_by_role("checkbox", name=re.compile("^Hard")).check()
    expect(page).to_have_url(re.compile("difficulty=hard"))
    expect(page.locator(".variant")).not_to_have_count(everything)
    assert page.locator(".variant").count() > 0
    page.go_back()
    expect(page.locator(".variant")).to_have_count(everything)


def test_one_request_too_many_says_so_and_leaves_the_list_as_it_is(page: Page, expected: list[str]) -> None:
    expected.append("status of 429")
    said = "All visitors at one IP address together can send 4,800 requests a minute."
    refusal = render_to_string("429.html", {"reason": said}, RequestFactory().get("/"))
    page.goto("/environments/")
    page.route("**/environments/?*", lambda route: route.fulfill(status=429, content_type="text/html", body=refusal))
    page.get_by_role("checkbox", name=re.compile("^Hard")).check()
    expect(page.locator("#toasts")).to_have_text(said)
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("nvironments"))
    expect(page.locator(".variant").first).to_be_attached()


def test_nothing_that_fits_says_so_and_leads_back(page: Page) -> None:
    page.goto("/environments/?q=zzzz")
    expect(page.get_by_role("heading", name="No environment matches")).to_be_visible()
    page.get_by_role("link", name="Show all").click()
    expect(page.locator(".family").first).to_be_visible()


@pytest.mark.parametrize("env_ids", [KINDS, pytest.param(CLASSES, marks=pytest.mark.long)], ids=["kinds", "classes"])
def test_an_environment_of_each_kind_has_a_page(page: Page, env_ids: list[str]) -> None:
    for env_id in env_ids:
        page.goto(f"/environments/{env_id}/")
        expect(page.get_by_role("heading", level=1)).to_have_text(env_id)
        for section in ("Rules", "Actions", "Rewards", "Baselines"):
            expect(page.get_by_role("heading", name=section)).to_be_visible()
        expect(page.locator("#example, #look").first).to_be_attached()


def test_play_begins_with_the_seed_that_was_asked_for(page: Page) -> None:
    page.goto("/environments/game:Minesweeper-v0-hard/")
    expect(page.locator(".skeleton")).to_have_count(0)
    check_looks(page)
    page.get_by_label("Seed").fill("4211")
    page.get_by_role("main").get_by_role("button", name="Play").click()
    page.wait_for_url("**/episodes/**")
    expect(page.get_by_role("main")).to_contain_text("4211")


def test_a_double_click_on_play_begins_one_episode_and_coming_back_another(page: Page) -> None:
    page.goto("/environments/?q=minesweeper")
    begin = page.get_by_role("button", name=re.compile("^Play game:Minesweeper"))
    begin.dblclick()
    page.wait_for_url("**/episodes/*/")
    first = page.url
    page.go_back()
    key = page.locator("input[name=idempotency_key]").first
    before = key.input_value()
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")  # as it was left
    assert key.input_value() != before
    for field in page.locator("input[name=idempotency_key]").all():
        field.evaluate("field => { field.value = ''; }")  # as the server sends it to all readers alike
    begin.dblclick()
    page.wait_for_url("**/episodes/*/")
    assert page.url != first
    page.goto("/play/mine/")
    expect(page.get_by_role("main").locator("a[href^='/episodes/']").first).to_be_visible()
    episodes = page.get_by_role("main").locator("a[href^='/episodes/']").evaluate_all("all => all.map(a => a.pathname)")
    assert len(set(episodes)) == 2


def test_the_example_opens_its_replay(page: Page) -> None:
    page.goto("/environments/game:Sokoban-v0-easy/")
    page.get_by_role("link", name="Example replay").click()
    page.wait_for_url("**/episodes/**/turns/0/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_an_unknown_environment_names_the_nearest(page: Page, expected: list[str]) -> None:
    expected.append("status of 404")
    page.goto("/environments/game:Sokobn-v0-easy/")
    expect(page.get_by_role("main")).to_contain_text("game:Sokoban-v0-easy")


def test_the_counts_follow_what_is_asked_for(page: Page) -> None:
    page.goto("/environments/")
    check_looks(page)
    games = page.get_by_role("checkbox", name=re.compile("^Games")).locator("xpath=..").locator(".n")
    expect(games).to_contain_text(str(GAMES))
    page.get_by_label("Search by name or rule").fill("minesweeper")
    expect(games).to_contain_text("4 environments")
    expect(games).not_to_contain_text(str(GAMES))
    expect(page.locator(".variant")).to_have_count(4)


def test_pictures_come_as_they_are_scrolled_to(page: Page) -> None:
    page.goto("/environments/?kind=Games")
    last = page.locator(".family").last
    last.scroll_into_view_if_needed()
    expect(last.locator(".small-picture [role=img], .small-picture .board").first).to_be_visible()


def test_a_badge_says_what_it_means_when_it_has_the_focus(page: Page) -> None:
    page.goto("/environments/game:GuessTheNumber-v0-easy/")
    badge = page.get_by_text("Same seed, same episode")
    meaning = page.get_by_text("The same seed and actions gave the same turns")
    expect(meaning).to_be_hidden()
    badge.focus()
    expect(meaning).to_be_visible()
    for look in in_every_look(page):
        assert overflow(page) <= 0, look


def test_the_long_list_of_datasets_looks_right(page: Page) -> None:
    page.goto("/environments/?kind=Reasoning")
    expect(page.locator(".variant").first).to_be_visible()
    check_looks(page)


def test_the_list_works_without_javascript(new_context: Callable[..., BrowserContext]) -> None:
    page = new_context(java_script_enabled=False).new_page()
    page.goto("/environments/")
    page.get_by_role("checkbox", name=re.compile("^Hard")).check()
    page.get_by_label("Search by name or rule").fill("minesw")
    page.get_by_role("button", name="Filter", exact=True).click()
    expect(page.locator(".variant")).to_have_attribute("href", "/environments/game:Minesweeper-v0-hard/")
    page.close()
