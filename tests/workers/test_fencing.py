"""Whatever workers do in whatever order: every episode is recorded once, and who lost a lease writes nothing."""

import uuid
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from django.db import transaction
from django.db.models.functions import Now
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from apps.jobs import leases, operations
from apps.jobs.leases import Claim, recovery
from apps.jobs.models import Job, Shard
from apps.leases import LeaseLost
from gem.agents import make_agent
from gem.rollout import rollout
from tests.counts import Counted
from tests.workers.environments import SLOW
from tests.workers.records import Submit, assert_exactly_once, fresh

WORKERS = 3
FAST = "game:GuessTheNumber-v0-hard"
NOBODY = -1

step = st.one_of(
    st.tuples(st.just("claim"), st.integers(0, WORKERS - 1)),
    st.tuples(st.just("record"), st.integers(0, WORKERS - 1), st.integers(1, 6)),
    st.tuples(st.just("heartbeat"), st.integers(0, WORKERS - 1)),
    st.tuples(st.just("release"), st.integers(0, WORKERS - 1)),
    st.tuples(st.just("fail"), st.integers(0, WORKERS - 1)),
    st.tuples(st.just("expire")),
    st.tuples(st.just("reap")),
    st.tuples(st.just("cancel")),
    st.tuples(st.just("restore_site")),
    st.tuples(st.just("resume")),
)


class Machine:
    """Workers that do as they are told, beside a model of who owns what."""

    def __init__(self, job: Job) -> None:
        assert job.owner is not None
        self.job, self.owner = job, job.owner
        self.claims: dict[int, Claim] = {}
        self.left: dict[int, list[Any]] = {}
        self.owners: dict[int, int] = {}

    def claim(self, worker: int) -> None:
        claim = leases.claim()
        if claim is None:
            assert not self.job.shards.filter(state=Shard.State.QUEUED).exists() or fresh(self.job).over
            return
        assert claim.shard_id not in self.owners, "a shard that is owned was given away"
        forgotten = self.claims.get(worker)
        if forgotten is not None and self.owners.get(forgotten.shard_id) == worker:
            self.owners[forgotten.shard_id] = NOBODY  # it stays leased until it expires
        self.claims[worker], self.left[worker] = claim, claim.slots()
        self.owners[claim.shard_id] = worker

    def record(self, worker: int, episodes: int) -> None:
        claim = self.claims.get(worker)
        slots = self.left.get(worker, [])[:episodes]
        if claim is None or not slots:
            return
        records = list(rollout(make_agent("random"), slots, num_envs=4))
        before = fresh(self.job).episodes_done
        try:
            leases.record_episodes(claim, records)
        except LeaseLost:
            assert self.owners.get(claim.shard_id) != worker, "the owner was refused"
            assert fresh(self.job).episodes_done == before, "who lost the lease wrote"
            return
        assert self.owners.get(claim.shard_id) == worker, "somebody else wrote"
        self.left[worker] = self.left[worker][len(slots) :]
        if not self.left[worker]:
            del self.owners[claim.shard_id]

    def heartbeat(self, worker: int) -> None:
        claim = self.claims.get(worker)
        if claim is not None:
            assert leases.heartbeat(claim) == (self.owners.get(claim.shard_id) == worker)

    def release(self, worker: int) -> None:
        claim = self.claims.get(worker)
        if claim is not None:
            leases.release(claim)
            if self.owners.get(claim.shard_id) == worker:
                del self.owners[claim.shard_id]

    def fail(self, worker: int) -> None:
        claim = self.claims.get(worker)
        if claim is not None:
            leases.fail_shard(claim, "told to fail")
            if self.owners.get(claim.shard_id) == worker:
                del self.owners[claim.shard_id]
            self._forget_if_over()

    def expire(self) -> None:
        Shard.objects.filter(state=Shard.State.RUNNING).update(lease_until=Now() - timedelta(seconds=1))
        recovery.reap()
        self.owners.clear()

    def reap(self) -> None:
        """The reaper takes nothing from who owns it; what lost its owner stays leased until it expires."""
        before = set(self.job.shards.filter(state=Shard.State.RUNNING).values_list("pk", "lease_token"))
        recovery.reap()
        assert before == set(self.job.shards.filter(state=Shard.State.RUNNING).values_list("pk", "lease_token"))

    def cancel(self) -> None:
        done = fresh(self.job).episodes_done
        assert operations.cancel(self.job.pk, self.owner).over
        assert fresh(self.job).episodes_done == done, "a cancelled job lost episodes"
        self._forget_if_over()

    def restore_site(self) -> None:
        """What a restored backup looks like: everything that was under way is paused, and no worker knows of it."""
        if not fresh(self.job).over:
            Job.objects.filter(pk=self.job.pk).update(state=Job.State.PAUSED)
            open_shards = self.job.shards.filter(state__in=[Shard.State.QUEUED, Shard.State.RUNNING])
            open_shards.update(state=Shard.State.PAUSED, lease_token=None, lease_until=None)
            self.owners.clear()
            assert leases.claim() is None, "a paused job was given away"

    def resume(self) -> None:
        before = fresh(self.job).state
        after = operations.resume(self.job.pk, self.owner).state
        assert after == (Job.State.QUEUED if before == Job.State.PAUSED else before)

    def _forget_if_over(self) -> None:
        if fresh(self.job).over:
            self.owners.clear()


@pytest.mark.parametrize("examples", [15, pytest.param(2_000, marks=pytest.mark.long)])
def test_every_episode_once_whatever_happens(submit: Submit, examples: int, counted: Counted) -> None:
    taken: list[int] = []

    @settings(max_examples=examples, deadline=None, phases=[Phase.generate])
    @given(steps=st.lists(step, max_size=40))
    def check(steps: list[tuple[Any, ...]]) -> None:
        taken.append(len(steps))
        check_steps(submit, steps)

    check()
    assert len(taken) >= examples
    counted("jobs in any order: steps", sum(taken))


def check_steps(submit: Submit, steps: list[tuple[Any, ...]]) -> None:
    """Take these steps, then end the job: every episode was recorded once."""
    Job.objects.all().delete()
    job = submit(FAST, 30)
    split(job, 3)
    machine = Machine(job)
    for name, *arguments in steps:
        getattr(machine, name)(*arguments)
        slots = list(job.batch.episodes.values_list("slot", flat=True))
        assert len(slots) == len(set(slots)) == fresh(job).episodes_done
    machine.resume()
    machine.expire()
    worker = count(WORKERS)
    while not fresh(job).over:
        last = next(worker)
        machine.claim(last)
        machine.record(last, 30)
    if fresh(job).state == Job.State.DONE:
        assert_exactly_once(job)
    elif fresh(job).state == Job.State.CANCELLED:
        assert not job.shards.filter(state__in=[Shard.State.QUEUED, Shard.State.RUNNING]).exists()
    else:
        assert job.shards.filter(state=Shard.State.FAILED, attempt=3).exists()


def test_whatever_broke_a_shard_is_written_down(submit: Submit) -> None:
    job = submit(FAST, 30)
    for _ in range(3):
        claim = leases.claim()
        assert claim is not None
        leases.fail_shard(claim, f"ValueError: a\0b \ud800 {'long' * 10_000}")
    assert fresh(job).state == Job.State.FAILED
    assert "ValueError: a␀b \ufffd long" in fresh(job).reason
    assert len(fresh(job).reason) < 2 * leases.MAX_REASON_CHARS


def split(job: Job, parts: int) -> None:
    """Give the only shard's slots to several, so that workers have something to share."""
    whole = job.shards.get()
    size = whole.count // parts
    whole.delete()
    Shard.objects.bulk_create(
        Shard(job=job, number=i + 1, env_id=whole.env_id, first_slot=i * size, first_seed=i * size, count=size)
        for i in range(parts)
    )


def test_a_claim_with_another_token_writes_nothing(submit: Submit) -> None:
    submit(SLOW, 5)
    claim = leases.claim()
    assert claim is not None
    forged = replace(claim, token=uuid.uuid4())
    with pytest.raises(LeaseLost):
        leases.record_episodes(forged, list(rollout(make_agent("random"), claim.slots()[:1])))
    assert not leases.heartbeat(forged)


def test_half_a_write_is_no_write(submit: Submit) -> None:
    job = submit(SLOW, 5)
    claim = leases.claim()
    assert claim is not None
    records = list(rollout(make_agent("random"), claim.slots()[:2]))
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        leases.record_episodes(claim, records)
        _ = 1 / 0
    assert fresh(job).episodes_done == 0
    assert not job.batch.episodes.exists()
