"""An agent plays live; one person steers, others watch, and whoever comes late sees everything."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, Response, expect

from tests.walks.conftest import check_looks, move
from tests.walks.play.beginning import begin

WRITE_TOASTS = """() => {
  window.toasts = [];
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) for (const toast of addedNodes) toasts.push(toast.textContent);
  }).observe(document.getElementById("toasts"), { childList: true });
}"""


def start(
    page: Page, env_id: str = "game:Minesweeper-v0-hard", agent: str = "expert", seed: int = 8, pace: str = "0.5"
) -> str:
    """Start a show by the form; returns its address."""
    page.goto(f"/play/watch/new/?env_id={env_id}")
    page.get_by_label("Agent", exact=True).select_option(agent)
    page.get_by_label("Seed", exact=True).fill(str(seed))
    page.get_by_label("Pace", exact=True).select_option(pace)
    page.get_by_role("main").get_by_role("button", name="Watch").click()
    expect(page.locator("#board")).to_be_visible()
    return page.url


def test_it_is_paused_stepped_resumed_and_stopped(page: Page) -> None:
    start(page)
    expect(page.locator("#t2")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#scoreline")).to_contain_text("paused")
    played = page.locator("#turns li").count()
    page.get_by_role("button", name="One turn").click()
    expect(page.locator("#turns li")).to_have_count(played + 1)
    expect(page.locator("#turn")).to_contain_text("Reasoning")
    check_looks(page)
    page.get_by_label("Pace", exact=True).select_option("5")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#turns li")).not_to_have_count(played + 1)
    page.get_by_role("button", name="Take the seat").click()
    expect(page.get_by_role("button", name="Hand back now")).to_be_visible()
    expect(page.locator("#expected-seq")).to_be_attached()
    check_looks(page)
    page.get_by_label("Note").fill("You are nearly there.")
    page.get_by_role("button", name="Leave the note").click()
    expect(page.locator(".turn-note")).to_have_count(3)
    expect(page.get_by_text("not ranked")).to_be_visible()
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#end")).to_contain_text("Given up")
    expect(page.get_by_role("button", name="Pause")).to_be_hidden()


def test_others_watch_and_a_late_one_gets_the_history(page: Page, second_page: Callable[[], Page]) -> None:
    move(page)
    address = start(page, "game:Minesweeper-v0-easy", seed=6, pace="5")  # so that nobody comes after its end
    other = second_page()
    other.goto(address)
    expect(page.locator("#spectators")).to_have_text("2 watching")
    expect(page.locator("#t1")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(other.locator("#scoreline")).to_contain_text("paused")
    late = second_page()
    late.goto(address)
    expect(late.locator("#t1")).to_be_visible()
    expect(late.locator("#spectators")).to_have_text("3 watching")
    expect(late.get_by_role("button", name="Resume")).to_have_count(0)
    late.set_viewport_size({"width": 390, "height": 900})
    place = late.locator("#board").bounding_box()
    page.get_by_label("Pace", exact=True).select_option("0.25")
    page.get_by_role("button", name="Resume").click()
    for watcher in (page, other, late):
        expect(watcher.locator("#end")).to_contain_text("olved", timeout=30_000)
    assert late.locator("#board").bounding_box() == place  # at its end, nothing above the board grows or shrinks
    boards = {watcher.locator("#board .board").inner_text() for watcher in (page, other, late)}
    histories = {" ".join(watcher.locator("#turns li code").all_inner_texts()) for watcher in (page, other, late)}
    assert len(boards) == len(histories) == 1


def test_a_person_is_watched_too(page: Page, second_page: Callable[[], Page]) -> None:
    page.goto("/play/new/?env_id=game:GuessTheNumber-v0-hard")
    page.get_by_label("Seed", exact=True).fill("4")
    page.get_by_role("main").get_by_role("button", name="Play").click()
    expect(page.locator("#board")).to_be_visible()
    other = second_page()
    other.goto(page.url)
    expect(other.locator("#board")).to_be_visible()
    expect(other.get_by_label("Action")).to_have_count(0)
    page.get_by_role("gridcell", name="10: possible").click()
    expect(other.locator("#t1 code")).to_have_text("10")
    expect(other.locator("#turns li")).to_have_count(1)


def test_the_lobby_leads_to_what_runs(page: Page) -> None:
    address = start(page, "game:GuessTheNumber-v0-hard", pace="5")
    page.goto("/play/watch/")
    episode = address.rstrip("/").rpartition("/")[2]
    page.locator(f"#episode-{episode}").get_by_role("link", name=re.compile("^Watch")).click()
    expect(page).to_have_url(re.compile(episode))


def test_tv_goes_on_once_for_each_press(page: Page) -> None:
    for seed in range(3):
        begin(page, "game:GuessTheNumber-v0-hard", seed)
    page.goto("/play/watch/tv/")
    expect(page.locator("#tv-screen .board")).to_be_visible()
    skipped: set[str] = set()

    def is_third(response: Response) -> bool:
        skipped.update(re.findall(r"tv/\?after=(\w+)", response.url))
        return len(skipped) == 3

    with page.expect_response(is_third):
        for _ in range(3):  # faster than the answers come
            page.keyboard.press("n")
    expect(page.locator("#tv-screen .board")).to_be_visible()


def test_a_lobby_that_gets_no_answer_says_so_once(page: Page, expected: list[str]) -> None:
    expected += ["ERR_FAILED", "htmx:"]
    page.clock.install()
    page.goto("/play/watch/")
    page.evaluate(WRITE_TOASTS)
    page.route("**/play/watch/?*", lambda route: route.abort())
    for _ in range(3):
        with page.expect_event("requestfailed"):
            page.clock.fast_forward(20_000)
    [said] = page.evaluate("toasts")
    assert said == "This page cannot be brought up to date: the server did not answer. It tries again by itself."
    page.unroute_all()
    with page.expect_response("**/play/watch/?*"):
        page.clock.fast_forward(20_000)
    page.route("**/play/watch/?*", lambda route: route.abort())
    page.clock.fast_forward(20_000)
    page.wait_for_function("() => toasts.length === 2")
