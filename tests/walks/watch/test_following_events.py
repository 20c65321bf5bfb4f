"""The line under "Stream these events" works as it is printed, and a browser that follows a stream stops at its end."""

from __future__ import annotations

import json
import shlex
import subprocess

from playwright.sync_api import Page, expect

from tests.walks.conftest import check_looks

FOLLOW = """path => new Promise(resolve => {
  const names = [];
  const source = new EventSource(path);
  for (const name of ["episode.started", "episode.turn", "episode.ended"])
    source.addEventListener(name, event => names.push(`${event.lastEventId} ${event.type}`));
  source.onerror = () => { if (source.readyState === EventSource.CLOSED) resolve(names); };
})"""


def test_the_printed_line_streams_an_episode_to_its_end(page: Page) -> None:
    page.goto("/play/watch/new/?env_id=game:GuessTheNumber-v0-easy")
    page.get_by_label("Agent", exact=True).select_option("expert")
    page.get_by_label("Pace", exact=True).select_option("0.5")
    page.get_by_role("main").get_by_role("button", name="Watch").click()
    page.get_by_text("Stream these events").click()
    line = page.locator("details.rest pre").filter(has_text="curl").inner_text()
    check_looks(page)
    command = shlex.split(line)
    assert command[:2] == ["curl", "-N"]
    printed = subprocess.run(["curl", "-sN", *command[2:]], capture_output=True, text=True, timeout=60, check=True)
    data = [json.loads(text[6:]) for text in printed.stdout.splitlines() if text.startswith("data: ")]
    assert data[0]["event"] == "episode.started"
    assert data[-1]["event"] == "episode.ended"
    expect(page.locator("#end")).to_contain_text("olved")
    heard = page.evaluate(FOLLOW, command[2])
    assert heard == [f"{event['seq']} {event['event']}" for event in data]
