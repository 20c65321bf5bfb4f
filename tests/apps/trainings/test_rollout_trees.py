"""Episodes of one seed as a tree: what they share is one branch, every end opens its replay."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db.models import F
from django.test import Client
from pytest_django.fixtures import Settings

from apps.accounts.models import User
from apps.jobs.models import Job
from apps.trainings import operations, pages, records
from apps.trainings.pages.trees import Branch, EpisodeRow, tree
from apps.trainings.records import KeptEpisode
from gem.agents import Decision, Request
from gem.rollout import EpisodeRequest, rollout
from tests.apps.trainings.trainings import ENV_ID, claimed, row, small

SEED = 7
GUESSES = [[1, 2, 3, 5], [1, 2, 3, 5], [1, 2, 4], [9, 8], [1, 2]]
"""Of five tries at one seed, whose number is 4."""


class Guesser:
    """Guesses what it is told to."""

    name = "guesser"

    def __init__(self, guesses: Sequence[Sequence[int]]) -> None:
        self._guesses = guesses

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """As `Agent.act`."""
        return [Decision(f"\\boxed{{{self._guesses[one.episode][one.turn - 1]}}}") for one in requests]


@pytest.fixture
def job(db: None, settings: Settings, tmp_path: Path) -> Job:
    """A training whose first update kept these tries, each cut off at its last guess, and two more seeds."""
    settings.RUNS_DIR = tmp_path
    job = operations.submit(User.objects.create_user("ada"), small(algorithm="grpo"))
    claim = claimed(job)
    records.record_points(claim, [row(1)])
    kept = []
    for place, guesses in enumerate(GUESSES):
        limit = [{"name": "time_limit", "max_turns": len(guesses)}]
        slots = [EpisodeRequest(0, ENV_ID, SEED, {}, limit)]
        kept += [KeptEpisode(1, 0, record) for record in rollout(Guesser([guesses]), slots, num_envs=1)]
        assert kept[place].record.turn_count == len(guesses)
    kept += [
        KeptEpisode(1, 1 + seed, one)
        for seed in (0, 1)
        for one in rollout(Guesser([[1] * 20]), [EpisodeRequest(0, ENV_ID, seed)])
    ]
    records.record_samples(claim, kept)
    return job


def outline(branches: Sequence[Branch]) -> list[object]:
    """The tree as nested lists: actions, how many ended there, what came after."""
    return [[list(one.actions), len(one.ends), outline(one.branches)] for one in branches]


def test_what_episodes_share_is_one_branch(job: Job) -> None:
    group = pages.samples(job, 1, AnonymousUser())["groups"][0]
    assert outline(group.branches) == [
        [["1", "2"], 1, [[["3", "5"], 2, []], [["4"], 1, []]]],
        [["9", "8"], 1, []],
    ]
    first = group.branches[0]
    assert len(first.rows) == 4
    assert first.mean == pytest.approx(sum(each.reached for each in first.rows) / 4)
    assert first.only is None
    assert group.branches[1].only == group.branches[1].ends[0]


def test_groups_have_their_order_wherever_their_rows_lie(job: Job) -> None:
    assert [group.seed for group in pages.samples(job, 1, AnonymousUser())["groups"]] == [SEED, 0, 1]
    job.samples.update(group=10 - F("group"))
    assert [group.seed for group in pages.samples(job, 1, AnonymousUser())["groups"]] == [1, 0, SEED]


def test_every_episode_is_at_exactly_one_end(job: Job) -> None:
    def ends(branches: Sequence[Branch]) -> list[EpisodeRow]:
        return [row for one in branches for row in [*one.ends, *ends(one.branches)]]

    group = pages.samples(job, 1, AnonymousUser())["groups"][0]
    assert sorted(row.episode.pk for row in ends(group.branches)) == sorted(row.episode.pk for row in group.rows)


def test_a_long_line_is_shortened_in_its_middle(job: Job) -> None:
    row = replace(pages.samples(job, 1, AnonymousUser())["groups"][1].rows[0], actions=tuple("abcdefghij"))
    (alone,) = tree([row])
    assert (alone.shown, alone.left_out, alone.shown_last) == (("a", "b", "c"), 4, ("h", "i", "j"))


class Lists(HTMLParser):
    """How deep lists are nested, and where links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = self.deepest = 0
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count."""
        if tag == "ul":
            self.depth += 1
            self.deepest = max(self.deepest, self.depth)
        if tag == "a":
            self.links.append(dict(attrs)["href"] or "")

    def handle_endtag(self, tag: str) -> None:
        """Count back."""
        self.depth -= tag == "ul"


def test_the_page_draws_it_as_nested_lists_with_a_link_at_every_end(client: Client, job: Job) -> None:
    part = client.get(f"{job.get_absolute_url()}updates/1/").content.decode()
    assert "style=" not in part
    drawn = part.partition('class="rollouts"')[2].partition('<div class="table-wrap">')[0]
    assert "5 tries at seed 7" in unescape(drawn)
    read = Lists()
    read.feed(drawn[drawn.index("<ul>") :])
    assert read.depth == 0
    assert read.deepest == 3
    ids = [row.episode.pk for row in pages.samples(job, 1, AnonymousUser())["groups"][0].rows]
    assert sorted(read.links) == sorted(f"/episodes/{pk}/turns/0/" for pk in ids)
    assert re.search(r"return, 2 turns, replay", drawn)
    alone = part.partition('<div class="table-wrap">')[2]
    assert alone.count("<tr>") == 3, "seeds of a single try stay a table"
