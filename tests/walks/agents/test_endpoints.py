"""Somebody adds a model of their own, tries it, watches it play, changes it, evaluates it, and deletes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.model_server import ModelServer, model_server
from tests.walks.conftest import check_looks

FINISH_MS = 60_000


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model server on the site's own machine."""
    with model_server() as running:
        yield running


def add(page: Page, server: ModelServer, name: str, model: str = "bisect") -> str:
    """Store an agent by the form; returns its address."""
    page.goto("/agents/new/")
    page.get_by_label("Address").fill(server.url)
    page.get_by_label("Model", exact=True).fill(model)
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Save agent").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(name)
    return page.url


def test_from_an_address_to_a_game_to_a_score(logged_in: Page, server: ModelServer, expected: list[str]) -> None:
    expected += ["htmx:sendAbort", "htmx:afterRequest", "status of 422"]
    page = logged_in
    page.set_default_timeout(FINISH_MS)
    page.goto("/agents/")
    page.get_by_role("link", name="Add an endpoint").first.click()
    page.get_by_role("button", name="Send a test message").click()
    expect(page.locator("#trial")).to_contain_text("Enter the address of the server")
    page.get_by_label("Address").fill(server.url)
    page.get_by_label("Model", exact=True).fill("unheard-of")
    page.get_by_role("button", name="Send a test message").click()
    expect(page.locator("#trial")).to_contain_text("There is no such model")
    page.get_by_label("Model", exact=True).fill("bisect")
    page.get_by_role("button", name="Send a test message").click()
    expect(page.locator("#trial")).to_contain_text("The server answers.")
    expect(page.locator("#trial")).to_contain_text("bisect-2026")
    check_looks(page)
    page.get_by_label("Name", exact=True).fill("bisector")
    page.get_by_label("Key", exact=True).fill("sk-never-shown")
    page.get_by_label("Temperature").fill("0.5")
    page.get_by_role("button", name="Save agent").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("bisector")
    assert "sk-never-shown" not in page.content()
    check_looks(page)

    page.get_by_role("link", name="Watch it now").click()
    page.get_by_label("Environment", exact=True).fill("game:GuessTheNumber-v0-hard")
    page.get_by_label("Seed", exact=True).fill("2")
    page.get_by_label("Pace", exact=True).select_option("0.25")
    page.get_by_role("main").get_by_role("button", name="Watch").click()
    expect(page.locator("#end")).to_contain_text("Solved", timeout=FINISH_MS)
    expect(page.locator("#turn")).to_contain_text("It is from")
    expect(page.locator("#turn")).to_contain_text(re.compile(r"\d+ in, 11 out, \d"))
    expect(page.locator("#scoreline")).to_contain_text("Tokens")
    check_looks(page)
    page.goto(page.url)
    expect(page.get_by_text(re.compile(r"\d+ in, 11 out, \d"))).to_be_visible()
    check_looks(page)

    page.goto("/jobs/new/?env_id=game:GuessTheNumber-v0-hard&benchmark=&episodes_per_env=4&repeats=2")
    page.get_by_role("button", name="Add bisector").click()
    expect(page.get_by_role("button", name="Remove bisector")).to_be_visible()
    page.get_by_role("button", name="Remove random").click()
    expect(page.get_by_role("button", name="Remove random")).to_have_count(0)
    page.get_by_role("button", name="Submit evaluation").click()
    expect(page.locator("#state")).to_contain_text("done", timeout=FINISH_MS)
    expect(page.locator("#facts")).to_contain_text("Tokens")
    page.reload()
    expect(page.get_by_role("heading", name="Solved in k tries")).to_be_visible()
    expect(page.get_by_text("gemweb eval --agent endpoint --agent-spec agent.json")).to_be_visible()
    check_looks(page)


def test_long_reasoning_is_folded_and_opens(logged_in: Page, server: ModelServer) -> None:
    page = logged_in
    page.set_default_timeout(FINISH_MS)
    add(page, server, "ponderer", "ponders")
    page.get_by_role("link", name="Watch it now").click()
    page.get_by_label("Environment", exact=True).fill("game:GuessTheNumber-v0-hard")
    page.get_by_label("Seed", exact=True).fill("2")
    page.get_by_role("main").get_by_role("button", name="Watch").click()
    folded = page.locator("#turn details.reasoning")
    expect(folded).to_contain_text("It may be any of them")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#scoreline")).to_contain_text("paused")
    folded.locator("summary").click()
    expect(folded.get_by_text("characters")).to_be_visible()
    check_looks(page)


def test_it_rests_when_no_answer_comes_and_is_asked_again(logged_in: Page, server: ModelServer) -> None:
    page = logged_in
    page.set_default_timeout(FINISH_MS)
    add(page, server, "shaky", "flaky-1-400")
    page.get_by_role("link", name="Watch it now").click()
    page.get_by_label("Environment", exact=True).fill("game:GuessTheNumber-v0-hard")
    page.get_by_label("Seed", exact=True).fill("2")
    page.get_by_role("main").get_by_role("button", name="Watch").click()
    sentence = "shaky gave no answer at turn 1. The server answered 400."
    expect(page.locator("#trouble")).to_contain_text(sentence, timeout=FINISH_MS)
    expect(page.locator("#scoreline")).to_contain_text("paused")
    check_looks(page)
    server.well = True
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#trouble")).to_be_empty()
    expect(page.locator("#end")).to_contain_text("Solved", timeout=FINISH_MS)


def test_others_neither_see_nor_change_it_until_it_is_shared(
    logged_in: Page, second_page: Callable[[], Page], server: ModelServer, expected: list[str]
) -> None:
    from apps.accounts.models import User
    from tests.walks.conftest import PASSWORD, log_in

    expected.append("status of 404")
    address = add(logged_in, server, "private one", "lost")
    User.objects.create_user("onlooker", password=PASSWORD)
    other = second_page()
    log_in(other, "onlooker")
    other.goto(address)
    expect(other.get_by_role("heading", level=1)).not_to_contain_text("private one")
    logged_in.get_by_role("link", name="Edit or test").click()
    logged_in.get_by_label("Visibility").select_option("public")
    logged_in.get_by_role("button", name="Save changes").click()
    expect(logged_in.get_by_role("link", name="Edit or test")).to_be_visible()  # what was sent is saved
    other.goto(address)
    expect(other.get_by_role("heading", level=1)).to_contain_text("private one")
    expect(other.get_by_role("button", name="Delete this agent")).to_have_count(0)
    assert "127.0.0.1" not in other.get_by_role("main").inner_text()
    logged_in.get_by_role("button", name="Delete this agent").click()
    logged_in.get_by_role("button", name="Delete it").click()
    expect(logged_in.get_by_role("heading", name="Agents", exact=True)).to_be_visible()
    expect(logged_in.get_by_text("private one and its key were deleted")).to_be_visible()
    check_looks(logged_in)


def test_a_phone_shows_the_agents_and_folds_their_filters(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/agents/")
    owner = page.get_by_label("Owner")
    expect(owner).to_be_hidden()
    page.locator("summary", has_text="Filters").click()
    expect(owner).to_be_visible()
    page.goto("/agents/")
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(owner).to_be_visible()
    check_looks(page)
