"""A person adds a benchmark, draws a challenge on it, plays it elsewhere, and sends it: from a file to a row."""

import gzip
import json
import re

from playwright.sync_api import Page, expect

from apps.accounts.models import User
from gem import benchmarks
from gem.agents import make_agent
from gem.benchmarks import document
from gem.records import episode_files
from gem.rollout import EpisodeRequest, rollout
from gem.verification import challenges
from tests.walks.conftest import check_looks

ENV_ID = "game:GuessTheNumber-v0-easy"
CHECK_MS = 60_000


def played(challenge: challenges.Challenge) -> str:
    """The file that `gemweb eval --challenge` writes."""
    planned = map(challenge.planned, range(challenge.episodes))
    requests = [EpisodeRequest(n, each.env_id, each.seed, {}, each.wrappers) for n, each in enumerate(planned) if each]
    return "".join(episode_files.episode_line(record, "random") for record in rollout(make_agent("random"), requests))


def send(page: Page, episodes: str) -> None:
    packed = gzip.compress(episodes.encode())
    page.get_by_label("Episodes", exact=True).set_input_files(
        {"name": "episodes.jsonl.gz", "mimeType": "application/gzip", "buffer": packed}
    )
    page.get_by_role("button", name="Send the episodes").click()


def test_from_a_file_to_a_row_that_was_played_elsewhere(logged_in: Page, person: User, expected: list[str]) -> None:
    page = logged_in
    expected.append("status of 422")
    whole = document.parse(benchmarks.text_of("games-easy"))
    entry = next(each for each in whole["entries"] if each["env_id"] == ENV_ID)
    own = {"name": "guessing", "version": 1, "title": "Guessing", "summary": "One game.", "score": "clipped"}
    page.goto("/benchmarks/new/")
    page.get_by_label("Or its text").fill(json.dumps({**own, "entries": [{**entry, "hidden_seeds": 30}]}))
    page.get_by_label("Visibility").select_option("public")
    page.get_by_role("button", name="Add it").click()
    expect(page.locator("#standing")).to_contain_text("ready", timeout=CHECK_MS)

    page.goto(f"/leaderboard/challenges/new/?benchmark={person.username}.guessing")
    page.get_by_role("button", name="Draw the seeds").click()
    expect(page.get_by_text("Give the agent a name")).to_be_visible()
    page.get_by_label("Name of the agent").fill("tabula 7b")
    page.get_by_role("button", name="Draw the seeds").click()
    expect(page.get_by_role("heading", name="tabula 7b on")).to_be_visible()
    check_looks(page)

    with page.expect_download() as download:
        page.get_by_role("link", name="challenge.json").click()
    text = played(challenges.read(download.value.path().read_bytes()))
    send(page, re.sub(r'"reward": ?[0-9.]+', '"reward": 7.5', text, count=1))
    expect(page.locator("#standing")).to_contain_text("are not verified, and the file was deleted", timeout=CHECK_MS)
    expect(page.locator("#standing")).to_contain_text("the record has 7.5")

    page.reload()
    send(page, text)
    expect(page.locator("#standing")).to_contain_text("every reward agreed", timeout=CHECK_MS)
    page.reload()
    check_looks(page)
    page.get_by_role("link", name="The row and its certificate").click()
    expect(page.get_by_role("heading", name="tabula 7b on")).to_be_visible()
    expect(page.get_by_role("list", name="How this row was produced")).to_contain_text("30 episodes played elsewhere")
    check_looks(page)
    page.goto(f"/leaderboard/elsewhere/?benchmark={person.username}.guessing")
    expect(page.get_by_role("row", name=person.username)).to_contain_text("1 challenge drawn: 1 verified")
