"""Somebody signs up, submits an evaluation, watches it finish, opens an episode, finds their row, cancels another."""

import re
import time
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.walks.conftest import PASSWORD, check_looks, move

FINISH_MS = 60_000
TOP_OF_GRID = "document.getElementById('grid').getBoundingClientRect().top"
GUESS = "game:GuessTheNumber-v0-hard"
COUNT_CELLS = """
window.cellsToldByHtmx = 0;
document.addEventListener("htmx:oobAfterSwap", (event) => { window.cellsToldByHtmx += event.target.matches(".ep"); });
"""
"""htmx tells all elements of a message about each other, so a message with many cells must not leave them to it."""


def test_from_signing_up_to_a_row_on_the_leaderboard(page: Page, expected: list[str]) -> None:
    move(page)
    expected += ["htmx:sendAbort", "htmx:afterRequest"]  # a page is left before its fragments are there
    page.goto("/jobs/new/?agent=random&benchmark=games")
    page.get_by_label("Name", exact=True).fill("My first one")
    page.get_by_role("button", name="Submit evaluation").click()
    expect(page).to_have_url(re.compile("/account/login/"))
    page.get_by_role("link", name="Create an account").click()
    page.get_by_label("Name", exact=True).fill("walker-of-jobs")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Create account").click()
    expect(page).to_have_url(re.compile("/jobs/new/"))
    expect(page.get_by_label("Name", exact=True)).to_have_value("My first one")

    page.get_by_role("button", name="Submit evaluation").click()
    expect(page.get_by_role("heading", name="My first one")).to_be_visible()
    expect(page.locator("#state")).to_contain_text("done", timeout=FINISH_MS)
    expect(page.locator("#log")).to_contain_text("all episodes are done")
    expect(page.locator("#grid .ep[href]").first).to_be_visible()
    check_looks(page)

    page.locator("#grid a.ep").first.click()
    expect(page).to_have_url(re.compile("/episodes/"))
    expect(page.get_by_role("button", name="Copy seed 1000")).to_be_visible()

    page.goto("/leaderboard/?benchmark=games")
    row = page.locator("#rows tbody tr", has_text="random").first
    deadline = time.monotonic() + FINISH_MS / 1000
    while not row.count():  # the row is written after the end of the job, by its worker
        assert time.monotonic() < deadline, "the job has no row"
        page.reload()
    expect(row).to_be_visible()
    opener = row.locator(".opener")
    opener.press("Enter")
    expect(opener).to_have_attribute("aria-expanded", "true")
    expect(page.get_by_text("What is proved")).to_be_visible()
    opener.press("Enter")
    expect(opener).to_have_attribute("aria-expanded", "false")
    expect(page.get_by_text("What is proved")).to_have_count(0)
    assert "row=" not in page.url
    row.get_by_role("link", name="Details").click()
    expect(page.get_by_role("heading", name="Reproduce this row")).to_be_visible()
    check_looks(page)


def test_episodes_appear_while_the_job_runs_and_it_can_be_cancelled_and_submitted_again(
    logged_in: Page, slow_agent: str
) -> None:
    page = logged_in
    page.set_default_timeout(FINISH_MS)  # the workers leave little of a small machine to the browser
    page.goto(f"/jobs/new/?agent={slow_agent}&benchmark=&env_id={GUESS}&episodes_per_env=10000&num_envs=4")
    page.get_by_role("button", name="Submit evaluation").click()
    expect(page.locator("#state")).to_contain_text("running", timeout=FINISH_MS)
    page.evaluate(COUNT_CELLS)
    top = page.evaluate(f"window.stays = true; window.scrollTo(0, 120); {TOP_OF_GRID}")
    expect(page.locator("#grid a.ep").first).to_be_visible(timeout=FINISH_MS)
    done = page.locator("#facts dd").first
    before = done.inner_text()
    expect(done).not_to_have_text(before, timeout=FINISH_MS)
    assert page.evaluate("window.stays") is True, "the page was not loaded again"
    assert abs(page.evaluate(TOP_OF_GRID) - top) < 1, "nothing jumped"
    assert page.locator("#grid .ep").count() <= 500
    assert page.evaluate("window.cellsToldByHtmx") == 0

    page.get_by_label("Episodes at a time").fill("2")
    page.get_by_role("button", name="Change").click()
    expect(page.locator("#log")).to_contain_text("4 to 2 episodes at a time")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#state")).to_contain_text("paused")
    expect(page.locator("#curve path").first).to_be_visible()
    check_looks(page)
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#state")).to_contain_text(re.compile("queued|running"))
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    job = page.url
    page.get_by_role("link", name="all lines").click()
    page.get_by_label("Search the log").fill("paused by")
    page.get_by_role("button", name="Search", exact=True).last.click()
    expect(page.locator("#log div")).to_have_count(1)
    check_looks(page)
    page.goto(job)

    page.get_by_role("button", name="Cancel job").click()
    page.locator("#confirm-cancel").get_by_role("button", name="Cancel job").click()
    expect(page.locator("#state")).to_contain_text("cancelled")
    expect(page.get_by_text("Finished episodes are kept")).to_be_visible()

    first = page.url
    page.get_by_role("button", name="Submit again").click()
    expect(page).not_to_have_url(first)
    expect(page.locator("#state")).to_contain_text(re.compile("queued|running"))
    page.get_by_role("button", name="Cancel job").click()
    page.locator("#confirm-cancel").get_by_role("button", name="Cancel job").click()
    expect(page.locator("#state")).to_contain_text("cancelled")


def test_the_form_keeps_everything_and_says_what_to_correct(logged_in: Page, expected: list[str]) -> None:
    expected.append("status of 422")
    page = logged_in
    page.goto("/jobs/new/?env_id=game:GuessTheNumber-v0-easy")
    page.get_by_label("Episodes per environment").fill("1000000000")
    expect(page.locator("#estimate")).to_contain_text("must be from 1 to 10,000, not 1,000,000,000")
    page.get_by_role("button", name="Submit evaluation").click()
    field = page.locator(".field", has=page.get_by_label("Episodes per environment"))
    expect(field).to_contain_text("must be from 1 to 10,000, not 1,000,000,000")
    expect(page.get_by_label("Episodes per environment")).to_have_value("1000000000")
    chosen, found = page.get_by_role("list", name="Chosen environments"), page.locator("#found")
    expect(chosen).to_contain_text("game:GuessTheNumber-v0-easy")
    page.get_by_label("Episodes per environment").fill("10")
    expect(page.locator("#estimate .facts")).to_contain_text("10")

    page.get_by_label("Search environments", exact=True).fill("sokoban")
    expect(found.get_by_role("button", name="game:Sokoban-v0", exact=True)).to_be_visible()
    expect(found).not_to_contain_text("game:Minesweeper-v0")
    page.get_by_label("Search environments", exact=True).fill("gcd")
    found.get_by_role("button", name="rg:gcd", exact=True).click()
    expect(chosen).to_contain_text("rg:gcd")
    page.get_by_role("button", name="Add expert").click()
    box = page.get_by_role("checkbox", name="expert plays rg:gcd: no expert")
    expect(box).to_be_disabled()
    expect(page.locator("#document")).to_contain_text('"expert",\n      "rg:gcd"')
    expect(page.locator("#estimate")).to_contain_text("2 jobs with 30 episodes")
    check_looks(page)

    document = page.locator("#document pre").inner_text()
    page.get_by_text("Paste JSON").click()
    page.get_by_label("A specification as JSON").fill(document.replace('"expert"', '"human"', 1))
    page.get_by_role("button", name="Fill in the form").click()
    expect(page.locator("#agent-error")).to_contain_text("'expert' leaves something out")
    page.get_by_label("A specification as JSON").fill(document)
    page.get_by_role("button", name="Fill in the form").click()
    expect(page.locator("#document pre")).to_have_text(document)
    page.get_by_role("button", name="Submit evaluation").click()
    expect(page.get_by_role("link", name="submitted together")).to_have_count(2)


def test_two_agents_are_compared_and_stop_when_that_is_decided(logged_in: Page) -> None:
    page = logged_in
    page.set_default_timeout(FINISH_MS)
    both = "agent=random&agent=expert&benchmark=&env_id=game:GuessTheNumber-v0-easy&episodes_per_env=5000"
    page.goto(f"/jobs/new/?{both}")
    page.get_by_label("How many seeds for a difference").fill("3")
    expect(page.locator("#power")).to_contain_text("A difference of 3.0 points takes")
    page.get_by_label("Stop when decided against").fill("nothing")
    expect(page.locator("#estimate")).to_contain_text("There is no evaluation nothing that you may see")
    page.get_by_label("Stop when decided against").fill("group")
    expect(page.locator("#document")).to_contain_text('"stop_against": "group"')
    page.get_by_role("button", name="Submit evaluation").click()
    page.locator("tbody th a", has_text="expert on").first.click()
    expect(page.locator("#state")).to_contain_text("stopped: decided")
    expect(page.locator("#decision")).to_contain_text("this agent solves")
    page.get_by_role("link", name="Seed by seed").click()
    expect(page.locator(".verdict")).to_contain_text("Decided after")
    expect(page.get_by_role("heading", level=1)).to_have_text("Two evaluations on the same seeds")
    page.get_by_role("link", name="expert won").or_(page.get_by_role("link", name="A won", exact=True)).click()
    page.get_by_role("link", name="Side by side").first.click()
    expect(page).to_have_url(re.compile("/side-by-side/.*turn=parting"))
    page.goto("/compare/")
    for agent in ("random", "expert"):
        page.get_by_role("checkbox", name=re.compile(f"^{agent} on GuessTheNumber-v0-easy")).first.check()
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Two evaluations on the same seeds")
    check_looks(page)
    page.set_viewport_size({"width": 320, "height": 800})
    side = page.locator(".compared li").first
    name, job = side.locator(".agent > span").bounding_box(), side.locator("a").first.bounding_box()
    assert name is not None
    assert job is not None
    assert name["x"] + name["width"] <= job["x"], "on phones, the name of the agent is beside its job"


def test_the_list_and_the_leaderboard_look_right_everywhere(page: Page) -> None:
    for address in ("/jobs/", "/jobs/?whose=mine", "/jobs/?state=failed", "/leaderboard/", "/jobs/new/"):
        page.goto(address)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        check_looks(page)


def test_a_menu_opens_between_the_edges_of_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/leaderboard/")
    page.get_by_text("Export", exact=True).click()
    opened = page.locator("main .menu-list")
    expect(opened).to_be_visible()
    expect(opened).to_be_in_viewport(ratio=1)
    latex = opened.get_by_role("link", name="LaTeX")
    with page.expect_download() as download:
        latex.click()
    assert download.value.suggested_filename.endswith(".tex")


def _bring_into_view(page: Page, part: str) -> None:
    """Scroll to a part, at once: Playwright waits until an element stays, but a part is replaced when it is seen."""
    page.locator(f"#{part}").evaluate("part => part.scrollIntoView()")


def _read_export_and_archive(page: Page) -> None:
    """Read the result part by part, download its turns, and archive the job under another name."""
    job = page.url
    episodes = page.locator("#grid a.ep")
    expect(page.locator("#grid a.ep[tabindex='0']")).to_have_count(1)
    episodes.first.focus()
    page.keyboard.press("ArrowRight")
    expect(episodes.nth(1)).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#grid a.ep:focus")).to_have_count(0)
    _bring_into_view(page, "seeds")
    cells = page.locator("#seeds td a")
    expect(cells).to_have_count(40)
    cells.first.focus()
    page.keyboard.press("ArrowRight")
    expect(cells.nth(1)).to_be_focused()
    _bring_into_view(page, "failures")
    expect(page.locator("#failures .clusters li").first).to_contain_text("Examples: seed")
    expect(page.locator("#distributions svg").first).to_have_attribute(
        "aria-label", re.compile("Return of 50 episodes")
    )
    check_looks(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Parquet of turns").click()
    assert download.value.suggested_filename.endswith("-turns.parquet")
    page.locator("summary", has_text="More").click()
    page.get_by_role("button", name="Name, tags and notes").click()
    page.get_by_label("Name", exact=True).fill("Fifty guesses")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Fifty guesses")
    page.locator("summary", has_text="More").click()
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_text("The job is archived")).to_be_visible()  # or the next page would be asked for before it is
    page.goto("/jobs/?archived=1")
    expect(page.get_by_role("link", name="Fifty guesses")).to_be_visible()
    page.goto(job)


def test_a_spectator_sees_a_strangers_job_and_no_buttons_for_it(
    logged_in: Page, second_page: Callable[[], Page]
) -> None:
    logged_in.goto("/jobs/new/?agent=random&benchmark=&env_id=game:GuessTheNumber-v0&episodes_per_env=50")
    logged_in.get_by_role("button", name="Submit evaluation").click()
    expect(logged_in.locator("#state")).to_contain_text("done", timeout=FINISH_MS)
    _read_export_and_archive(logged_in)
    stranger = second_page()
    stranger.goto(logged_in.url)
    expect(stranger.locator("#state")).to_contain_text("done")
    expect(stranger.get_by_role("button", name="Cancel job")).to_have_count(0)


def test_an_agent_is_evaluated_against_an_opponent(logged_in: Page, expected: list[str]) -> None:
    expected += ["htmx:sendAbort", "htmx:afterRequest", "status of 422"]  # the first try names no opponent
    page = logged_in
    page.set_default_timeout(FINISH_MS)
    page.goto("/jobs/new/?agent=expert&benchmark=&env_id=duel:TicTacToe-v0&episodes_per_env=20")
    page.get_by_role("button", name="Submit evaluation").click()
    expect(page.locator("#id_opponent_error")).to_contain_text("name an opponent for the others")
    page.get_by_label("Opponent").select_option(label="random")
    page.get_by_role("button", name="Submit evaluation").click()
    expect(page.get_by_role("heading", name="expert on TicTacToe-v0 against random")).to_be_visible()
    expect(page.locator("#state")).to_contain_text("done", timeout=FINISH_MS)
    page.get_by_role("link", name=re.compile("^Seed 0, second seat:")).click()
    expect(page.locator("h1")).to_contain_text("random and expert played")
    check_looks(page)
