"""A turn by POST, from the click to the board repainted in somebody else's browser, on loopback.

    python -m bench.turn [--turns 60]

Two pages of a real Chromium: one plays by clicking cells, the other one watches. The click is stamped in the first
page, the repaint in the second (the first message after the animation frame that follows the change of its board),
both by the machine's clock.
"""

import argparse
import time
from dataclasses import dataclass

from playwright.sync_api import Browser, Page, sync_playwright

from bench.stack import Stack, machine, percentile, print_table, stack
from tests.browser import FLAGS, find_browser

ENV_ID = "game:GuessTheNumber-v0"
NUMBERS = 100
PAUSE_SECONDS = 0.25
TARGET_P95_MS = 100.0
VISITOR = "b" * 32

STAMP_CLICKS = """() => {
  window.clicked = [];
  addEventListener("click", (event) => {
    if (event.target.closest("#board")) window.clicked.push(performance.timeOrigin + performance.now());
  }, true);
}"""
STAMP_REPAINTS = """() => {
  window.repainted = [];
  const now = () => performance.timeOrigin + performance.now();
  const shown = () => document.getElementById("board").dataset.seq;
  let last = shown();
  new MutationObserver(() => {
    if (shown() === last) return;
    last = shown();
    const changed = now();
    const painted = new MessageChannel();
    painted.port1.onmessage = () => window.repainted.push([changed, now()]);
    requestAnimationFrame(() => painted.port2.postMessage(null));
  }).observe(document.body, { attributeFilter: ["data-seq"], childList: true, subtree: true });
}"""


@dataclass
class Address:
    """The episode's page, and the session of who plays it."""

    url: str
    session: str


def begin(port: int) -> Address:
    """An episode with a cell for every turn, and the session of the person in its seat."""
    from django.contrib.sessions.backends.db import SessionStore

    from apps.agents.models import Agent
    from apps.episodes import operations

    seat = operations.Occupant(Agent.objects.get(slug="human"), visitor=VISITOR)
    kwargs = {"min_number": 1, "max_number": NUMBERS, "max_turns": NUMBERS * 2}
    episode = operations.begin(ENV_ID, seed=long_seed(kwargs), seats=[seat], env_kwargs=kwargs)
    session = SessionStore()
    session["visitor"] = VISITOR
    session.save()
    return Address(f"http://127.0.0.1:{port}{episode.get_absolute_url()}", session.session_key or "")


def long_seed(kwargs: dict[str, int]) -> int:
    """A seed whose secret is the last number, so that no click on the way there ends the episode."""
    import gem

    env = gem.make(ENV_ID, **kwargs)
    for seed in range(100 * NUMBERS):
        env.reset(seed=seed)
        if env.unwrapped.get_state()["secret"] == NUMBERS:
            return seed
    raise AssertionError("no such seed")


def measure(made: Stack, turns: int) -> tuple[list[float], list[float]]:
    """Milliseconds from click to changed and to repainted, for each turn."""
    _, port = made.web()
    address = begin(port)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        try:
            player, watcher = _open(browser, address)
            for turn in range(turns):
                _take_turn(player, watcher, turn)
            clicked: list[float] = player.evaluate("() => window.clicked")
            repainted: list[list[float]] = watcher.evaluate("() => window.repainted")
        finally:
            browser.close()
    assert len(clicked) == len(repainted) == turns
    changed = [at - click for click, (at, _) in zip(clicked, repainted, strict=True)]
    painted = [at - click for click, (_, at) in zip(clicked, repainted, strict=True)]
    return changed, painted


def _open(browser: Browser, address: Address) -> tuple[Page, Page]:
    playing, watching = browser.new_context(), browser.new_context()
    playing.add_cookies([{"name": "sessionid", "value": address.session, "domain": "127.0.0.1", "path": "/"}])
    player, watcher = playing.new_page(), watching.new_page()
    player.goto(address.url)
    watcher.goto(address.url)
    player.wait_for_selector("#board [data-acting] button")
    watcher.wait_for_selector("#board")
    time.sleep(1.5)
    player.evaluate(STAMP_CLICKS)
    watcher.evaluate(STAMP_REPAINTS)
    return player, watcher


def _take_turn(player: Page, watcher: Page, turn: int) -> None:
    """Click the cell of the lowest number that was not guessed yet, and wait until the other page shows it."""
    player.locator(f"#board button[value='\\\\boxed{{{turn + 1}}}']").click()
    watcher.wait_for_function(f"() => window.repainted.length > {turn}", timeout=10_000)
    time.sleep(PAUSE_SECONDS)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=60, choices=range(1, NUMBERS), metavar="1..99")
    options = parser.parse_args()
    with stack() as made:
        changed, painted = measure(made, options.turns)
    p95 = percentile(painted, 0.95)
    print(f"{options.turns} turns, from the click to another browser's page; {machine()}")
    print_table(
        [
            ("", "p50 ms", "p95 ms", "max ms", "target"),
            ("board changed", *(f"{percentile(changed, q):.0f}" for q in (0.5, 0.95, 1)), ""),
            (
                "board repainted",
                *(f"{percentile(painted, q):.0f}" for q in (0.5, 0.95, 1)),
                f"p95 below {TARGET_P95_MS:g} ms: {'met' if p95 < TARGET_P95_MS else 'MISSED'}",
            ),
        ]
    )


if __name__ == "__main__":
    main()
