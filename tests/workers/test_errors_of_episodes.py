"""Episodes that end in an error: played again, counted as not solved, or left out, as the request says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.jobs import leases, operations
from apps.jobs.leases.tries import discard
from apps.jobs.models import Job, Shard
from gem.agents import make_agent
from gem.evaluation.spec import EvaluationSpec
from gem.records import EpisodeRecord
from gem.rollout import EpisodeRequest, rollout
from workers.playing.errors_of_episodes import count_as_failed, with_retries

ENV_ID = "game:GuessTheNumber-v0-easy"
Sides = dict[int, list[str]]
"""Who fails in the tries of an episode, by its index: "environment", "agent", or nobody."""


class FaultyRollout:
    """Plays episodes and then lets some of their tries fail."""

    def __init__(self, sides: Sides) -> None:
        self.sides = {index: list(sides) for index, sides in sides.items()}
        self.played: list[int] = []

    def __call__(self, requests: Iterable[EpisodeRequest]) -> Iterator[EpisodeRecord]:
        for record in rollout(make_agent("random"), requests, num_envs=2):
            self.played.append(record.index)
            side: Any = next(iter(self.sides.get(record.index, [])), "")
            if side:
                self.sides[record.index].pop(0)
                record.failure, record.failed_by, record.success = f"{side} broke", side, None
                record.terminated = record.truncated = False
            yield record


def requests(number: int) -> list[EpisodeRequest]:
    return [EpisodeRequest(i, ENV_ID, i) for i in range(number)]


def test_episodes_are_played_again_until_they_end_or_no_retry_is_left() -> None:
    faulty = FaultyRollout({1: ["agent"], 2: ["environment"] * 5})
    discarded: list[EpisodeRecord] = []
    records = {record.index: record for record in with_retries(faulty, [requests(4)], 2, discarded.append)}
    assert {index: record.failure for index, record in records.items()} == {0: "", 1: "", 2: "environment broke", 3: ""}
    assert [record.index for record in discarded] == [1, 2, 2] or [r.index for r in discarded] == [2, 1, 2]
    assert sorted(faulty.played[:4]) == [0, 1, 2, 3], "the others are not held up"
    assert sorted(faulty.played[4:6]) == [1, 2]
    assert faulty.played[6:] == [2]


def test_without_retries_every_episode_is_played_once() -> None:
    faulty = FaultyRollout({0: ["agent"]})
    discarded: list[EpisodeRecord] = []
    records = list(with_retries(faulty, [requests(2)], 0, discarded.append))
    assert not discarded
    assert sorted(faulty.played) == [0, 1]
    assert sum(bool(record.failure) for record in records) == 1


@pytest.mark.parametrize(
    ("kinds", "counted", "errors"),
    [((), 2, 2), (("unanswered",), 3, 1), (("environment",), 3, 1), (("environment", "unanswered"), 4, 0)],
)
def test_errors_count_as_the_request_says(db: None, kinds: tuple[str, ...], counted: int, errors: int) -> None:
    Agent.objects.get_or_create(slug="random", defaults={"name": "random", "kind": "random", "colour": 8})
    request: dict[str, Any] = {"agent": "random", "env_ids": [ENV_ID], "episodes_per_env": 4, "count_as_failed": kinds}
    job = operations.submit(User.objects.create_user("ada"), EvaluationSpec.model_validate(request))
    claim = leases.claim()
    assert claim is not None
    faulty = FaultyRollout({0: ["agent"], 1: ["environment"]})
    records = list(with_retries(faulty, [claim.slots()], 0, lambda record: discard(claim, record)))
    sentences = count_as_failed(claim.spec, records)
    assert leases.record_episodes(claim, records, None, sentences), "the job has ended"
    shard = Shard.objects.get()
    assert (shard.done - shard.errors, shard.errors) == (counted, errors)
    stored = Job.objects.get(pk=job.pk).batch.episodes
    assert stored.filter(status="failed").count() == errors
    assert stored.filter(status="ended", terminated=False, truncated=False).count() == counted - 2
    log = list(job.events.filter(text__contains="counted as not solved").values_list("text", flat=True))
    assert len(log) == len(kinds)
    assert all("broke" in text for text in log), "the log keeps the reason"


def test_a_try_that_is_played_again_is_in_the_log(db: None) -> None:
    Agent.objects.get_or_create(slug="random", defaults={"name": "random", "kind": "random", "colour": 8})
    spec = EvaluationSpec(agent="random", env_ids=(ENV_ID,), episodes_per_env=2, retries=1)
    job = operations.submit(User.objects.create_user("ada"), spec)
    claim = leases.claim()
    assert claim is not None
    record = next(iter(FaultyRollout({0: ["agent"]})(claim.slots()[:1])))
    discard(claim, record)
    assert Shard.objects.get().done == 0
    assert job.events.filter(text__contains="seed 0 is played again, after an error: agent broke").count() == 1
