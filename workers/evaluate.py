"""Evaluations: claim a shard, play it and record it, until there is no shard left to claim."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from multiprocessing import RawValue
from time import monotonic
from typing import Any, NamedTuple

from celery import current_app
from celery.signals import worker_process_init, worker_shutting_down
from django.conf import settings

from apps.accounts.models import CpuUse
from apps.agents.players import player
from apps.failpoints import failpoint
from apps.jobs import admission, leases
from apps.jobs.controls.orders import Order
from apps.jobs.decisions.looks import look
from apps.jobs.leases import Claim, WorkerSeconds
from apps.jobs.leases.error_share import stop_over_errors
from apps.jobs.leases.tries import discard
from apps.leaderboard.operations import record_scores
from apps.leaderboard.proofs.choices import note_machine
from apps.queue import beat, enqueue
from gem.agents.endpoint.ledger import Ledger
from gem.records import EpisodeRecord
from gem.rollout import EpisodeRequest, rollout
from workers.beside import Beside
from workers.cpu import CpuMeter
from workers.errors_of_episodes import RANKED_RETRIES, count_as_failed, with_retries
from workers.lease import GivesWay, Lease, WatchedAsync, watched

CHUNK_SECONDS = 0.5
"""Finished episodes are recorded, and shown on the job's page, about this often."""
CHUNK_EPISODES = 1000
MANY_EPISODES, MANY_CHUNK_SECONDS = 16, 0.25
"""With so many episodes of an asynchronous agent at a time, those that end within these seconds are recorded together.
Of fewer, each is recorded as it ends, because the next one may take minutes."""

SLICE_SECONDS = admission.SLICE_SECONDS
"""A shard that takes longer gives way to somebody else who waits and has less. Its running episodes are finished."""
MAX_RUN_SECONDS = 15.0
"""After this time a worker returns to the broker, so that on a busy site the reaper's messages are handled too."""

_stop = RawValue(ctypes.c_bool, False)  # created before the pool forks, so that all processes share it


@current_app.task(name="evaluate.shards")
def shards(job_id: str) -> None:
    """Play shards until none is left or the time is up. `job_id` is only the job that woke this worker."""
    until = monotonic() + MAX_RUN_SECONDS
    while not stopping() and (claim := leases.claim()) is not None:
        failpoint("claimed")
        job_ended = False
        lease = Lease(claim, stopping, slice_seconds=SLICE_SECONDS)
        with lease, CpuMeter(claim.owner_id, CpuUse.Use.JOBS) as meter:
            job_ended = play(claim, lease, meter)
        if job_ended and claim.spec.benchmark:
            failpoint("ended")
            record_scores(claim.job_id)
        if monotonic() >= until:
            enqueue("evaluate.shards", job_id)
            return


def play(claim: Claim, lease: Lease, meter: CpuMeter) -> bool:
    """Play the remaining episodes of a shard and record them as they finish. Returns whether the job has ended.

    Raises:
        LeaseLost, Stopping: see `Lease.check`. Recorded episodes stay.
        GivesWay: somebody else is served first; all episodes that had begun are recorded.
    """
    with Ledger(claim.books(), claim.spec.max_episode_tokens) as ledger:
        job_ended = _play(claim, lease, meter, ledger)
    if job_ended is None:
        return False
    if ledger.refusal:
        leases.stop_over_budget(claim, ledger.refusal)
        return False
    if lease.gives_way.is_set() and not job_ended:
        raise GivesWay
    if not job_ended:
        leases.release(claim, "it has episodes to play again")  # unless it is done, as it almost always is
    return job_ended


def _play(claim: Claim, lease: Lease, meter: CpuMeter, ledger: Ledger) -> bool | None:
    """Play and record the episodes of a shard while there is budget; what has ended is recorded beside what is played.

    Returns whether the job has ended with them; None if too many errors or a decided comparison have ended it.
    """
    agent = watched(player(claim.agent, claim.set_up, ledger=ledger), lease)
    opponent = watched(player(claim.opponent, ledger=ledger, side="opponent"), lease) if claim.opponent else None
    is_async = isinstance(agent, WatchedAsync) or isinstance(opponent, WatchedAsync)
    started = monotonic()
    open_slots = claim.slots()
    slots, left = _while_wanted(open_slots, lease, ledger), len(open_slots)
    play_all = partial(
        rollout,
        agent,
        num_envs=lambda: lease.wishes.num_envs,
        opponent=opponent,
        backend=claim.spec.backend,
        broken_off=lease.broken_off,
    )
    chunk_seconds = CHUNK_SECONDS
    if is_async:
        chunk_seconds = MANY_CHUNK_SECONDS if claim.spec.num_envs >= MANY_EPISODES else 0.0
    retries, kinds = claim.spec.retries, ["environment", "unanswered"]
    if claim.spec.hidden_seeds:
        note_machine(claim.shard_id, claim.agent)
        retries, kinds = RANKED_RETRIES, ["environment"]
    recorded = Recorded()
    with (
        closing(with_retries(play_all, slots, retries, partial(discard, claim), kinds)) as episodes,
        Beside[Recorded]() as beside,
    ):
        results = (record for record in _as_ordered(claim, lease, episodes) if record.failed_by != "budget")
        for records in _chunks(results, chunk_seconds):
            lease.check()
            counted = count_as_failed(claim.spec, records)
            failpoint("played")
            left -= len(records)
            if left <= 0:  # the job may end now, and its books are complete then
                ledger.flush()
            recorded = beside.wait() or Recorded()
            if recorded.has_failed:
                return None
            busy = max(0.0, monotonic() - started - recorded.seconds)
            record = partial(_record, claim, records, WorkerSeconds(busy, min(busy, agent.take_seconds())), counted)
            if is_async or left <= 0:  # an asynchronous agent goes on anyway, and after the last chunk nothing is left
                recorded = record()
            else:
                beside.start(record)
            meter.tick()
            if recorded.has_failed:
                return None
            if look(claim.job_id):
                return None
            started = monotonic()
            if is_async:
                agent.take_seconds()  # discards the time while episodes were stored, which counts as storing
        recorded = beside.wait() or recorded
    return None if recorded.has_failed else recorded.ended_job


class Recorded(NamedTuple):
    """What became of a job when episodes of it were recorded."""

    ended_job: bool = False
    """Whether it has ended with all its episodes."""
    has_failed: bool = False
    """Whether too many errors have ended it."""
    seconds: float = 0.0
    """How long it took to record them."""


def _record(
    claim: Claim, records: Sequence[EpisodeRecord], worker_seconds: WorkerSeconds, notes: Sequence[str]
) -> Recorded:
    """Record episodes that have ended, and end their job if it has too many errors."""
    started = monotonic()
    ended_job = leases.record_episodes(claim, records, worker_seconds, notes)
    failpoint("recorded")
    has_errors = not ended_job and any(record.failure for record in records)
    has_failed = has_errors and stop_over_errors(claim.job_id, claim.spec)
    return Recorded(ended_job, has_failed, monotonic() - started)


def _as_ordered(claim: Claim, lease: Lease, episodes: Iterable[EpisodeRecord]) -> Iterator[EpisodeRecord]:
    """The records to store. An episode that a person cancelled is not solved or dropped, or is played again later."""
    for record in episodes:
        order = lease.wishes.orders.get(record.index) if record.failure == leases.CANCELLED else None
        if order == Order.AGAIN:
            leases.leave_open(claim, record.index)
            continue
        if order == Order.FAIL:
            record.failure, record.failed_by, record.success = "", "", False
        elif record.failure == leases.CANCELLED:
            record.failed_by = ""
        yield record


def _while_wanted(slots: Iterable[EpisodeRequest], lease: Lease, ledger: Ledger) -> Iterator[EpisodeRequest]:
    """The slots to play. None begins any more when somebody else waits for this worker, or the budget is used up."""
    for slot in slots:
        yield slot
        if lease.gives_way.is_set() or ledger.refusal:
            return


def _chunks(records: Iterator[EpisodeRecord], seconds: float) -> Iterator[list[EpisodeRecord]]:
    """Group records into lists of about `seconds` each. With 0 seconds, every record is a list of its own."""
    chunk: list[EpisodeRecord] = []
    due = monotonic() + seconds
    for record in records:
        chunk.append(record)
        if len(chunk) >= CHUNK_EPISODES or monotonic() >= due:
            yield chunk
            chunk, due = [], monotonic() + seconds
    if chunk:
        yield chunk


def stopping() -> bool:
    """Whether this worker is shutting down."""
    return bool(_stop.value)


@worker_shutting_down.connect
def _set_stopping(**_: Any) -> None:
    _stop.value = True


@worker_process_init.connect
def _freeze_memory(**_: Any) -> None:
    """Leave what was loaded before the first task out of garbage collections, which took a fifth of the time."""
    gc.collect()
    gc.freeze()


@worker_process_init.connect
def _start_heartbeats(**_: Any) -> None:
    """Send heartbeats for the health page from every process that can play. The scheduler, which cannot, sends none."""
    for queue in ("evaluate", "train"):
        if queue in current_app.amqp.queues.consume_from:
            threading.Thread(target=_send_heartbeats, args=(queue,), name="beat", daemon=True).start()


def _send_heartbeats(queue: str) -> None:
    while not stopping():
        beat(queue)
        threading.Event().wait(settings.HEARTBEAT_SECONDS)
