"""Somebody trains a policy, watches it learn, looks at an update, and goes on to watch it play."""

import re
from importlib.util import find_spec

import pytest
from playwright.sync_api import Page, Route, expect

from tests.walks.conftest import check_looks

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="trainings need torch, which `make test` installs")

FINISH_MS = 120_000


def test_a_policy_learns_on_an_open_page(logged_in: Page, expected: list[str]) -> None:
    expected += ["htmx:sendAbort", "htmx:afterRequest"]  # a page is left before its fragments are there
    expected.append("status of 422")  # a form with a slip in it
    page = logged_in
    page.set_default_timeout(FINISH_MS)
    page.goto("/jobs/train/")
    expect(page.get_by_role("radio", name=re.compile("guess-easy"))).to_be_checked()
    check_looks(page)
    page.get_by_label("Updates").fill("2")
    page.get_by_label("Name", exact=True).fill("apprentice")
    page.get_by_text("Expert mode").click()
    page.get_by_label("Epochs").fill("none")
    page.get_by_text("Expert mode").click()
    page.get_by_role("button", name="Train").click()
    expect(page.get_by_label("Epochs")).to_be_focused()
    expect(page.get_by_label("Name", exact=True)).to_have_value("apprentice")
    page.get_by_label("Epochs").fill("1")
    page.get_by_label("Episodes per update").fill("16")
    page.get_by_role("button", name="Train").click()

    expect(page.get_by_role("heading", name="apprentice")).to_be_visible()
    page.evaluate("window.stays = true")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.get_by_role("button", name="Add updates")).to_be_hidden()
    expect(page.get_by_role("button", name="Evaluate the best checkpoint at the end")).to_be_visible()
    expect(page.locator("#state")).to_contain_text("done", timeout=FINISH_MS)
    expect(page.locator("#facts")).to_contain_text("2 of 2")
    expect(page.locator("[data-curve=success]")).to_have_attribute("aria-label", re.compile(r"apprentice \d"))
    expect(page.locator("[data-curve=success] canvas")).to_be_visible()
    assert page.evaluate("window.stays") is True, "the page was not loaded again"
    expect(page.locator("#checkpoints")).to_contain_text("apprentice 2")
    expect(page.locator("#run-log")).to_contain_text("finished after update 2")
    expect(page.locator("#checkpoints")).to_contain_text("2 updates cannot show")
    expect(page.get_by_role("button", name="Evaluate the best checkpoint")).to_have_count(0)
    expect(page.get_by_role("button", name="Add updates")).to_be_visible()
    for over in ("Pause", "Resume", "Cancel"):
        expect(page.get_by_role("button", name=over, exact=True)).to_be_hidden()
    expect(page.get_by_role("link", name="Fork with changes")).to_have_attribute("href", re.compile("parent_update=2$"))

    expect(page.get_by_role("heading", name="Episodes of update 2")).to_be_visible()

    page.get_by_role("button", name="Turns", exact=True).click()
    expect(page).to_have_url(re.compile("x=turns"))
    page.locator("#look-at").fill("1")
    expect(page.get_by_role("heading", name="Episodes of update 1")).to_be_visible()
    page.get_by_role("button", name="seed 2").click()
    expect(page.get_by_role("heading", name="Seed 2 before and after training")).to_be_visible()
    expect(page.get_by_role("button", name="seed 2")).to_be_focused()
    later = page.locator("#look-after")
    update = later.get_attribute("data-look") or ""
    later.click()
    expect(page.get_by_role("heading", name=f"Episodes of update {update}")).to_be_visible()
    slow: list[Route] = []
    page.route("**/updates/1/*", lambda route: slow.append(route))  # noqa: PLW0108 - the browser wants a function of ours
    with page.expect_request("**/updates/1/*"):
        page.locator("#look-before").click()
    page.locator("#look-at").fill(update)  # before the answer about update 1 is there
    expect(page).to_have_url(re.compile(f"update={update}"))
    with page.expect_response(f"**/updates/{update}/*"):
        slow[0].continue_()
    expect(page.get_by_role("heading", name=f"Episodes of update {update}")).to_be_visible()
    expect(page.locator("#look-at")).to_have_value(update)
    source = page.locator("[data-curves]").get_attribute("data-curves")
    expected.append("status of 404")
    page.route(f"**{source}*", lambda route: route.fulfill(status=404))
    page.reload()
    expect(page.locator("[data-curve=success]")).to_have_attribute("aria-label", re.compile("–"))
    page.unroute_all()
    page.reload()
    expect(page.get_by_role("heading", name=f"Episodes of update {update}")).to_be_visible()
    expect(page.get_by_role("heading", name="Seed 2 before and after training")).to_be_visible()
    check_looks(page)
    page.set_viewport_size({"width": 390, "height": 900})
    boxes = [chart.bounding_box() for chart in page.locator("[data-charts] > section").all()]
    tops = [box["y"] for box in boxes if box]
    assert len(tops) == 8
    assert tops[::2] == tops[1::2], "two charts stand beside each other on a phone"
    page.set_viewport_size({"width": 1280, "height": 900})

    page.get_by_role("link", name="Watch it play").click()
    expect(page.get_by_label("Agent", exact=True)).to_have_value(re.compile("^training-"))


@pytest.mark.long
def test_seeds_are_a_band_and_tries_are_a_tree(logged_in: Page, expected: list[str]) -> None:
    expected += ["htmx:sendAbort", "htmx:afterRequest"]  # a page is left before its fragments are there
    page = logged_in
    page.set_default_timeout(FINISH_MS)
    page.goto("/jobs/train/")
    page.get_by_label("Algorithm", exact=True).select_option("grpo")
    page.get_by_label("Updates").fill("2")
    page.get_by_label("Episodes per update").fill("16")
    page.get_by_label("Seeds", exact=True).select_option("3")
    page.get_by_role("button", name="Train").click()
    trainings = [link.get_attribute("href") or "" for link in page.get_by_role("link", name=re.compile("^seed")).all()]
    assert len(trainings) == 3
    for training in trainings:
        page.goto(training)
        expect(page.locator("#state")).to_contain_text("done", timeout=3 * FINISH_MS)  # one may wait for the others

    chart = page.locator("[data-curve=success]")
    expect(chart).to_have_attribute("aria-label", re.compile(r"mean \d.*this seed \d"))
    expect(page.get_by_text("Line: mean of 3 seeds")).to_be_visible()
    page.get_by_role("button", name="This seed").click()
    expect(page).to_have_url(re.compile("seeds=one"))
    expect(chart).not_to_have_attribute("aria-label", re.compile("mean"))
    expect(page.get_by_text("Line: mean of 3 seeds")).to_be_hidden()

    tree = page.get_by_role("region", name=re.compile("Tree of the 8 tries at seed"))
    expect(tree.get_by_role("link")).to_have_count(8)
    check_looks(page)
    tree.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/episodes/\w+/turns/0/"))


def test_the_comparison_of_nothing_says_what_to_do(page: Page) -> None:
    page.goto("/jobs/compare/")
    expect(page.get_by_role("heading", name="No trainings chosen")).to_be_visible()
    check_looks(page)
