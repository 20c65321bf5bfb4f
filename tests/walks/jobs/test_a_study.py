"""Somebody starts a study, watches its figure fill in, opens a run, and looks at the learning curves of the recipes."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec

import pytest
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from tests.walks.conftest import PASSWORD, check_looks

FINISH_MS = 120_000
PLAN = {
    "title": "Two bonuses",
    "question": "Does a larger entropy bonus solve more?",
    "seeds": 2,
    "episodes": 32,
    "environments": {"fifteen": {"recipe": "fifteen-easy", "updates": 2, "episodes": 16}},
    "variants": {"small": {"title": "bonus 0.005", "settings": {"entropy_bonus": 0.005}}},
}


def test_a_study_with_recorded_results_is_a_figure_at_once(logged_in: Page) -> None:
    page = logged_in
    page.goto("/studies/")
    page.get_by_role("link", name="Start a study").click()
    page.get_by_role("radio", name=re.compile("^The discount in a guessing game")).check()
    page.wait_for_url("**/studies/new/?study=gamma")
    estimate = page.get_by_role("region", name="What it takes")
    expect(estimate).to_contain_text("Nothing is left to make")
    check_looks(page)
    page.get_by_role("textbox", name="Seeds").fill("one")
    page.get_by_role("button", name="Start study").focus()
    expect(estimate).to_contain_text("Write the seeds as a whole number.")
    page.get_by_role("textbox", name="Seeds").fill("5")
    page.get_by_role("button", name="Start study").focus()
    expect(estimate).to_contain_text("Nothing is left to make")
    page.keyboard.press("Enter")
    page.wait_for_url("**/studies/started/*/")
    expect(page.locator("#state")).to_have_text("done")
    expect(page.get_by_role("main")).to_contain_text("25 of 25 done")
    check_looks(page)
    page.locator("a.ep").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(r"^guess-ten, discount [\d.]+, seed 0"))
    check_looks(page)
    page.get_by_role("link", name="Train this again").click()
    expect(page.get_by_label("Environment", exact=True)).to_have_value("game:GuessTheNumber-v0-easy")


def test_every_curve_opens_its_recipe(page: Page) -> None:
    page.goto("/studies/curves/")
    check_looks(page)
    page.get_by_role("main").locator("a.multiple").first.click()
    page.wait_for_url("**/studies/curves/*/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    check_looks(page)


def test_a_plan_is_kept_while_its_author_logs_in(page: Page, person: User) -> None:
    page.goto("/studies/new/?study=own")
    page.get_by_label("Plan", exact=True).fill(json.dumps(PLAN))
    page.get_by_role("textbox", name="Title").fill("Mine")
    page.get_by_role("button", name="Start study").click()
    page.get_by_label("Name").fill(person.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    page.wait_for_url("**/studies/new/?*")
    expect(page.get_by_role("textbox", name="Title")).to_have_value("Mine")
    expect(page.get_by_label("Plan", exact=True)).to_have_value(json.dumps(PLAN))


@pytest.mark.skipif(find_spec("torch") is None, reason="trainings need torch, which `make test` installs")
def test_the_figure_fills_in_while_runs_end(logged_in: Page) -> None:
    page = logged_in
    page.goto("/studies/new/?study=own")
    page.get_by_label("Plan", exact=True).fill(json.dumps(PLAN))
    page.get_by_role("textbox", name="Seeds").fill("2")
    page.get_by_role("button", name="Start study").click()
    page.wait_for_url("**/studies/started/*/")
    page.evaluate("window.stays = true")
    expect(page.locator("#state")).to_have_text("done", timeout=FINISH_MS)
    expect(page.locator("#progress")).to_contain_text("2 of 2 done")
    expect(page.locator("#figures")).to_contain_text("The study has one variant, so nothing is compared.")
    expect(page.locator("#controls").get_by_role("button", name="Delete", exact=True)).to_be_visible()
    expect(page.locator("#controls").get_by_role("button", name="Pause")).to_have_count(0)
    assert page.evaluate("window.stays"), "the page was loaded again"
