"""What a reader waits for and downloads: a replay of 400 turns opened and scrubbed, and the home page, on loopback.

    python -m bench.replays [--turns 400] [--opens 10]

A real Chromium opens the page of an ended episode, each time in a new profile that has stored nothing, and then steps
through all its turns by key. Opened: from the request to the end of the `load` event, when all styles and scripts are
there. A step: from the key to the message after the animation frame that draws the board of the next turn. The home
page counts every byte that the browser received, headers included.
"""

import argparse
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from bench.stack import Stack, machine, percentile, print_table, stack
from bench.turn import ENV_ID, NUMBERS, VISITOR, long_seed
from gemweb.local import services
from tests.browser import FLAGS, find_browser

OPEN_MS, SCRUB_MS, HOME_KB = 300.0, 50.0, 150.0

OPENED = "() => performance.getEntriesByType('navigation')[0].loadEventEnd"
SCRUB = """(turns) => new Promise((done) => {
  const took = [];
  const scrubber = document.getElementById("scrub");
  const step = () => {
    if (took.length === turns) return done(took);
    const before = performance.now();
    const painted = new MessageChannel();
    painted.port1.onmessage = () => { took.push(performance.now() - before); setTimeout(step, 5); };
    const drawn = () => requestAnimationFrame(() => painted.port2.postMessage(null));
    document.addEventListener("turn", drawn, { once: true });
    scrubber.value = Number(scrubber.value) - 1;
    scrubber.dispatchEvent(new Event("input", { bubbles: true }));
  };
  step();
})"""


def record(turns: int) -> str:
    """The path of an ended episode of `turns` turns on a board of 100 cells, in which a person guesses wrongly."""
    from django.contrib.auth.models import AnonymousUser

    from apps.agents.models import Agent
    from apps.episodes import operations
    from apps.play.operations import take_turn

    kwargs = {"min_number": 1, "max_number": NUMBERS, "max_turns": turns}
    seat = operations.Occupant(Agent.objects.get(slug="human"), visitor=VISITOR)
    episode = operations.begin(ENV_ID, seed=long_seed(kwargs), seats=[seat], env_kwargs=kwargs)
    for turn in range(turns):
        action = f"\\boxed{{{1 + turn % (NUMBERS - 1)}}}"
        episode = take_turn(episode.pk, action, expected_seq=episode.seq, user=AnonymousUser(), visitor=VISITOR)
    assert episode.over, "the turn limit ends the episode"
    return episode.get_absolute_url()


def opened(browser: Browser, url: str, times: int) -> list[float]:
    """Milliseconds until the page was loaded, each time in a new profile."""
    took = []
    for _ in range(times):
        context = browser.new_context()
        page = context.new_page()
        page.goto(url, wait_until="load")
        page.wait_for_function("() => performance.getEntriesByType('navigation')[0].loadEventEnd > 0")
        took.append(float(page.evaluate(OPENED)))
        context.close()
    return took


def scrubbed(browser: Browser, url: str, turns: int) -> list[float]:
    """Milliseconds of each step, from the last turn to the beginning."""
    page = browser.new_context().new_page()
    page.goto(url, wait_until="load")
    took: list[float] = page.evaluate(SCRUB, turns)
    return took


def transferred(browser: Browser, url: str) -> float:
    """Kilobytes that a browser receives for a page, with everything that it loads."""
    page = browser.new_context().new_page()
    received: list[float] = []
    tools = page.context.new_cdp_session(page)
    tools.send("Network.enable")

    def _received(said: dict[str, Any]) -> None:
        received.append(said["encodedDataLength"])

    tools.on("Network.loadingFinished", _received)
    page.goto(url, wait_until="load")
    page.wait_for_function("() => !document.querySelector('.waiting')")  # what arrives after the page is there too
    return sum(received) / 1000


def measure(made: Stack, turns: int, times: int) -> tuple[list[float], list[float], float]:
    """Milliseconds of each opening and of each step, and kilobytes of the home page."""
    _, port = made.web()
    site = f"http://127.0.0.1:{port}"
    replay = site + record(turns)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        try:
            opened(browser, replay, 1)  # templates are compiled
            return opened(browser, replay, times), scrubbed(browser, replay, turns), transferred(browser, site)
        finally:
            browser.close()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--opens", type=int, default=10)
    options = parser.parse_args()
    with stack() as made:
        made.run(services.commands(made.env, "demo")).process.wait()  # the home page is that of a new site
        opens, steps, home = measure(made, options.turns, options.opens)
    print(f"a replay of {options.turns} turns, and the home page; {machine()}")
    rows = [("replay opened, ms", opens, OPEN_MS), ("a step of the scrubber, ms", steps, SCRUB_MS)]
    print_table(
        [
            ("", "p50", "p95", "max", "target"),
            *(
                (what, *(f"{percentile(took, q):.0f}" for q in (0.5, 0.95, 1)), f"below {most:g}")
                for what, took, most in rows
            ),
            ("home page, kB", f"{home:.0f}", "", "", f"below {HOME_KB:g}"),
        ]
    )


if __name__ == "__main__":
    main()
