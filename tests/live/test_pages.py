"""What the script of a live page promises, in a real browser: it comes back, misses nothing, and nothing jumps."""

import signal
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from apps.episodes.models import Episode
from tests.live import processes
from tests.live.processes import Fleet, Web

pytestmark = [pytest.mark.walk]

Take = Callable[..., None]
ROWS = "() => [...document.querySelectorAll('#turns > li')].map((row) => Number(row.id.slice(1)))"


@pytest.fixture(scope="module")
def fleet(django_db_setup: None) -> Iterator[Fleet]:
    """Processes for all tests of this file."""
    with processes.fleet_on(processes.test_database_url()) as fleet:
        yield fleet


@pytest.fixture(scope="module")
def webs() -> list[Web]:
    """The web processes so far."""
    return []


@pytest.fixture
def web(fleet: Fleet, webs: list[Web]) -> Web:
    """The web process; another one if a test has killed it."""
    if not webs or webs[-1].running.ended():
        webs.append(fleet.web())
    return webs[-1]


@pytest.fixture
def watcher(browser: Browser, web: Web, episode: Episode) -> Iterator[Page]:
    """The page of a spectator whose socket is open."""
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{web.port}{episode.get_absolute_url()}")
    expect(page.locator("#spectators")).to_have_text("1 watching", timeout=10_000)
    yield page
    page.close()


def test_a_lost_connection_is_said_and_nothing_is_missed(
    fleet: Fleet, webs: list[Web], web: Web, watcher: Page, episode: Episode, take_turns: Take
) -> None:
    take_turns(episode, 2)
    expect(watcher.locator("#turns > li")).to_have_count(2)
    web.running.signal(signal.SIGKILL)
    web.running.process.wait()
    assert watcher.locator("#connection").count() == 0  # not at once
    expect(watcher.locator("#connection")).to_contain_text("Connection lost. Reconnecting. Nothing is lost.")
    take_turns(episode, 3)
    webs.append(fleet.web(web.port))
    expect(watcher.locator("#turns > li")).to_have_count(5, timeout=20_000)
    assert watcher.evaluate(ROWS) == [5, 4, 3, 2, 1]
    expect(watcher.locator("#connection")).to_have_count(0)
    take_turns(episode, 1)
    expect(watcher.locator("#turns > li")).to_have_count(6)


def test_try_now_connects_at_once(fleet: Fleet, webs: list[Web], web: Web, watcher: Page) -> None:
    watcher.evaluate("() => { window.htmx.config.wsReconnectDelay = () => 600_000; }")
    web.running.signal(signal.SIGKILL)
    web.running.process.wait()
    button = watcher.get_by_role("button", name="Try now")
    expect(button).to_be_visible(timeout=10_000)
    webs.append(fleet.web(web.port))
    button.click()
    expect(button).to_have_count(0, timeout=15_000)


FOCUSABLE = """() => {
  const note = () => document.getElementById("history-note");
  note().tabIndex = 0;
  document.addEventListener("htmx:oobAfterSwap", () => { note().tabIndex = 0; });
  note().focus();
}"""
FOCUSED = "() => document.activeElement.id"


def test_focus_survives_in_what_is_replaced_and_in_what_grows(
    watcher: Page, episode: Episode, take_turns: Take
) -> None:
    take_turns(episode, 1)
    expect(watcher.locator("#t1")).to_be_visible()
    watcher.evaluate(FOCUSABLE)
    take_turns(episode, 1)
    expect(watcher.locator("#t2")).to_be_visible()
    assert watcher.evaluate(FOCUSED) == "history-note"
    watcher.locator("#t1 a").focus()
    take_turns(episode, 1)
    expect(watcher.locator("#t3")).to_be_visible()
    assert watcher.evaluate("() => document.activeElement.closest('li')?.id") == "t1"


CELLS = "() => [...document.querySelectorAll('#board .cell')]"
REMEMBER = f"() => {{ window.cells = ({CELLS})(); window.drawn = cells.map((cell) => cell.outerHTML); }}"
SAME = f"() => ({CELLS})().every((cell, i) => cell === cells[i])"
CHANGED = f"() => ({CELLS})().filter((cell, i) => cell.outerHTML !== drawn[i]).length"


def test_a_turn_changes_only_the_cells_that_differ(watcher: Page, episode: Episode, take_turns: Take) -> None:
    watcher.evaluate(REMEMBER)
    take_turns(episode, 1, 3)
    expect(watcher.locator("#t1")).to_be_visible()
    assert watcher.evaluate(SAME)
    assert 0 < watcher.evaluate(CHANGED) < 20


def test_a_selection_survives_in_what_is_replaced(watcher: Page, episode: Episode, take_turns: Take) -> None:
    take_turns(episode, 1)
    expect(watcher.locator("#t1")).to_be_visible()
    watcher.evaluate("() => getSelection().selectAllChildren(document.querySelector('#turn p'))")
    selected = watcher.evaluate("() => getSelection().toString()")
    assert selected
    take_turns(episode, 1)
    expect(watcher.locator("#t2")).to_be_visible()
    assert watcher.evaluate("() => getSelection().toString()") == selected


def test_a_tab_that_was_hidden_for_long_catches_up(watcher: Page, episode: Episode, take_turns: Take) -> None:
    watcher.evaluate(
        """() => {
          const now = Date.now;
          Object.defineProperty(document, "hidden", { configurable: true, get: () => window.away });
          window.away = true;
          document.dispatchEvent(new Event("visibilitychange"));
          Date.now = () => now() + 60_000;
        }"""
    )
    with watcher.expect_websocket() as again:
        watcher.evaluate("() => { window.away = false; document.dispatchEvent(new Event('visibilitychange')); }")
    assert "/live/episode/" in again.value.url
    take_turns(episode, 2)
    expect(watcher.locator("#turns > li")).to_have_count(2)
    assert watcher.evaluate(ROWS) == [2, 1]
