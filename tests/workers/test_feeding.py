"""A worker goes on with the next shard of a job before the last episodes of the one before have ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from apps.accounts.models import CpuUse, User
from apps.jobs import leases, operations
from apps.jobs.leases import Claim
from apps.jobs.models import Job, Shard
from gem.agents import Decision, Request, make_agent
from gem.evaluation.spec import EvaluationSpec
from tests.workers.records import Submit, assert_exactly_once, fresh
from tests.workers.test_fencing import split
from workers import evaluate
from workers.playing.cpu import CpuMeter
from workers.playing.lease import Lease

FAST = "game:GuessTheNumber-v0-hard"
EASY = "game:GuessTheNumber-v0-easy"


class Counting:
    """The random agent, which counts how many episodes are asked about at a time, and calls a function each time."""

    name = "random"

    def __init__(self, happens: Callable[[int], object] = lambda _: None) -> None:
        self.asked: list[int] = []
        self._agent = make_agent("random")
        self._happens = happens

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        self.asked.append(len(requests))
        self._happens(len(self.asked))
        return self._agent.act(requests)  # type: ignore[union-attr]


def play(job: Job, agent: Counting, monkeypatch: pytest.MonkeyPatch) -> Claim:
    """Play what one claim leads to."""
    monkeypatch.setattr(evaluate, "player", lambda *_, **__: agent)
    claim = leases.claim()
    assert claim is not None
    assert claim.job_id == job.pk
    with Lease(claim, lambda: False) as lease:
        evaluate.play(claim, lease, CpuMeter(None, CpuUse.Use.JOBS))
    return claim


def test_all_places_stay_busy_while_shards_follow_one_another(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    job = submit(FAST, 30, num_envs=4)
    split(job, 6)
    agent = Counting()
    play(job, agent, monkeypatch)
    assert fresh(job).state == Job.State.DONE, "one claim led to all shards"
    falls = [before > after for before, after in pairwise(agent.asked)]
    assert set(agent.asked[: falls.index(True)]) == {4}, "places are empty only at the end of the job"
    assert sum(falls) <= 3
    assert_exactly_once(job)
    assert job.batch.episodes.count() == sum(shard.done for shard in job.shards.all())
    assert all(shard.seconds > 0 and shard.lease_token is None for shard in job.shards.all())


def test_small_shards_are_held_together(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    job = submit(FAST, 12, num_envs=8)
    split(job, 6)
    held: list[int] = []
    running = Shard.objects.filter(state=Shard.State.RUNNING)
    play(job, Counting(lambda _: held.append(running.count())), monkeypatch)
    assert held[0] == 4, "each has two episodes"
    assert running.values("lease_token").distinct().count() == 0
    assert_exactly_once(job)


def test_somebody_elses_job_comes_before_the_next_shard(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    job = submit(FAST, 12, num_envs=2)
    split(job, 2)
    other = User.objects.create_user("somebody-else")
    spec = EvaluationSpec(agent="random", env_ids=(EASY,), episodes_per_env=2)

    def wait_too(turn: int) -> None:
        if turn == 1:
            operations.submit(other, spec)

    play(job, Counting(wait_too), monkeypatch)
    assert [shard.done for shard in job.shards.all()] == [6, 0]
    following = leases.claim()
    assert following is not None
    assert following.owner_id == other.pk


def test_one_worker_is_one_worker_however_many_shards_it_holds(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    job = submit(FAST, 12, num_envs=4)
    split(job, 6)
    Job.objects.filter(pk=job.pk).update(max_workers=1)
    play(job, Counting(), monkeypatch)
    assert fresh(job).state == Job.State.DONE


def test_a_shard_that_was_taken_back_costs_the_others_nothing(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    job = submit(FAST, 12)
    split(job, 2)
    monkeypatch.setattr("apps.leases.LOOK_SECONDS", 3600.0)
    claim = leases.claim()
    assert claim is not None
    with Lease(claim, lambda: False) as lease:
        more = leases.claim_another(claim, before_own_jobs=False)
        assert more is not None
        assert more.token == claim.token
        lease.add(more)
        Shard.objects.filter(pk=claim.shard_id).release(state=Shard.State.QUEUED)
        assert lease._look()
        assert [held.shard_id for held in lease.held] == [more.shard_id]
        assert lease.broken_off(claim.first_slot)
        assert not lease.broken_off(more.first_slot)
        lease.check()
    again = leases.claim()
    assert again is not None
    assert again.shard_id == claim.shard_id


@pytest.mark.parametrize("notices", [True, False], ids=["noticed", "not noticed yet"])
def test_a_worker_does_not_claim_a_shard_again_that_it_still_plays(
    submit: Submit, monkeypatch: pytest.MonkeyPatch, notices: bool
) -> None:
    job = submit(FAST, 12, num_envs=8)
    split(job, 3)
    monkeypatch.setattr("apps.leases.LOOK_SECONDS", 3600.0)
    claim = leases.claim()
    assert claim is not None
    lease = Lease(claim, lambda: False)

    def take_back(turn: int) -> None:
        if turn == 1:
            Shard.objects.filter(pk=claim.shard_id).release(state=Shard.State.QUEUED)
            if notices:
                lease._look()

    agent = Counting(take_back)
    monkeypatch.setattr(evaluate, "player", lambda *_, **__: agent)
    with lease:
        evaluate.play(claim, lease, CpuMeter(None, CpuUse.Use.JOBS))
    assert job.shards.get(pk=claim.shard_id).state == Shard.State.QUEUED
    while fresh(job).state != Job.State.DONE:
        play(job, Counting(), monkeypatch)
    assert_exactly_once(job)
    assert not job.batch.episodes.exclude(failed_by="").exists()
