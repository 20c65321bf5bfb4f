"""Evaluations: claim a shard, play it and record it, until there is no shard left to claim."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from functools import partial
from multiprocessing import RawValue
from time import monotonic
from typing import Any, NamedTuple

from celery import current_app
from celery.signals import worker_process_init, worker_shutting_down
from django.conf import settings

from apps.accounts.models import CpuUse
from apps.agents.players import Place, player
from apps.failpoints import failpoint
from apps.garbage import leave_out_what_is_loaded
from apps.jobs import admission, leases
from apps.jobs.controls.orders import Order
from apps.jobs.decisions.looks import look
from apps.jobs.leases import Claim, WorkerSeconds
from apps.jobs.leases.error_share import stop_over_errors
from apps.jobs.leases.tries import discard
from apps.leaderboard.operations import record_scores
from apps.leases import LeaseLost
from apps.queue import beat, enqueue
from gem.agents import AnyAgent
from gem.agents.endpoint.ledger import Ledger, Limits
from gem.evaluation.turn_budget import TurnBudget
from gem.records import EpisodeRecord
from gem.rollout import rollout
from workers.playing.beside import Beside
from workers.playing.cpu import CpuMeter
from workers.playing.errors_of_episodes import RANKED_RETRIES, count_as_failed, with_retries
from workers.playing.feeding import Feed, Part
from workers.playing.lease import GivesWay, Lease, WatchedAsync, watched

CHUNK_SECONDS = 0.5
"""Finished episodes are recorded, and shown on the job's page, about this often."""
CHUNK_EPISODES = 2000
MANY_EPISODES, MANY_CHUNK_SECONDS = 16, 0.25
"""With so many episodes of an asynchronous agent at a time, those that end within these seconds are recorded together.
Of fewer, each is recorded as it ends, because the next one may take minutes."""

SLICE_SECONDS = admission.SLICE_SECONDS
"""A shard that takes longer gives way to somebody else who waits and has less. Its running episodes are finished."""
SITE_SLICE_SECONDS = 0.5
"""The same for the jobs of the site itself, which keep nobody waiting."""
MAX_RUN_SECONDS = 15.0
"""After this time a worker returns to the broker, so that on a busy site the reaper's messages are handled too."""
SWITCH_SECONDS = 0.001
"""How long a thread may compute while others wait to go on."""

_stop = RawValue(ctypes.c_bool, False)  # created before the pool forks, so that all processes share it


@current_app.task(name="evaluate.shards")
def shards(job_id: str) -> None:
    """Play shards until none is left or the time is up. `job_id` is only the job that woke this worker."""
    until = monotonic() + MAX_RUN_SECONDS
    is_first = True
    while not stopping() and (claim := leases.claim()) is not None:
        failpoint("claimed")
        if is_first and leases.has_more(claim):
            enqueue("evaluate.shards", claim.job_id)  # so that all workers begin, one after the other
        is_first = False
        job_ended = False
        slice_seconds = SLICE_SECONDS if claim.owner_id is not None else SITE_SLICE_SECONDS
        lease = Lease(claim, stopping, slice_seconds=slice_seconds)
        with lease, CpuMeter(claim.owner_id, CpuUse.Use.JOBS) as meter:
            job_ended = play(claim, lease, meter)
        if job_ended and claim.spec.benchmark:
            failpoint("ended")
            record_scores(claim.job_id)
        if monotonic() >= until:
            enqueue("evaluate.shards", job_id)
            return


def play(claim: Claim, lease: Lease, meter: CpuMeter) -> bool:
    """Play the remaining episodes of a shard and record them as they end, and those of further shards of its job.

    Returns whether the job has ended.

    Raises:
        LeaseLost, Stopping: see `Lease.check`. Recorded episodes stay.
        GivesWay: somebody else is served first; all episodes that had begun are recorded.
    """
    spec = claim.spec
    episode_limits = Limits(spec.max_episode_tokens, spec.exact_episode_money)
    with Ledger(claim.books(lambda: lease.held), episode_limits) as ledger, TurnBudget(claim.turns) as turns:
        job_ended = _play(claim, lease, meter, Budgets(ledger, turns))
    if job_ended is None:
        return False
    if refusal := ledger.refusal or turns.refusal:
        for held in lease.held:
            leases.stop_over_budget(held, refusal)
        return False
    if lease.gives_way.is_set() and not job_ended:
        raise GivesWay
    for held in lease.held:  # almost always, none is left
        leases.release_to_play_again(held)
    return job_ended


class Budgets(NamedTuple):
    """What limits the job that is played: its books of requests, and its turns."""

    ledger: Ledger
    turns: TurnBudget

    def are_used_up(self) -> bool:
        """Whether one of them is used up."""
        return bool(self.ledger.refusal or self.turns.refusal)


def _play(claim: Claim, lease: Lease, meter: CpuMeter, budgets: Budgets) -> bool | None:
    """Play and record episodes while there is budget; what has ended is recorded beside what is played.

    Returns whether the job has ended with them; None if too many errors or a decided comparison have ended it.
    """
    place = Place(claim.job_id, f"job {claim.job_id[:4].upper()}")
    ledger = budgets.ledger
    agent = watched(player(claim.agent, claim.set_up, ledger=ledger, place=place), lease)
    opponent = None
    if claim.opponent:
        opponent = watched(player(claim.opponent, ledger=ledger, side="opponent", place=place), lease)
    is_async = isinstance(agent, WatchedAsync) or isinstance(opponent, WatchedAsync)
    feed = Feed(lease, budgets.are_used_up, is_async=is_async)
    chunk_seconds = CHUNK_SECONDS
    if is_async:
        chunk_seconds = MANY_CHUNK_SECONDS if claim.spec.num_envs >= MANY_EPISODES else 0.0
    started = monotonic()
    recorded = Recorded()
    played = _episodes(claim, lease, feed, budgets.turns, agent, opponent)
    with closing(played) as episodes, Beside[Recorded]() as beside:
        for records in _chunks(episodes, chunk_seconds):
            lease.check()
            notes = count_as_failed(claim.spec, records)
            failpoint("played")
            parts = feed.parts_of(records)
            if len(lease.held) == sum(part.is_last for part in parts):
                ledger.flush()  # the job may end now, and its books are complete then
            recorded = beside.wait() or Recorded()
            if recorded.is_over:
                return None
            busy = max(0.0, monotonic() - started - recorded.seconds)
            seconds = WorkerSeconds(busy, min(busy, agent.take_seconds()))
            record = partial(_record, lease, parts, seconds, notes)
            if is_async:  # an asynchronous agent goes on anyway
                recorded = record()
            else:
                beside.start(record)
            meter.tick()
            if recorded.is_over:
                return None
            started = monotonic()
            if is_async:
                agent.take_seconds()  # discards the time while episodes were stored, which counts as storing
        recorded = beside.wait() or recorded
    if recorded.is_over:
        return None
    return recorded.ended_job


def _episodes(
    claim: Claim, lease: Lease, feed: Feed, turns: TurnBudget, agent: AnyAgent, opponent: AnyAgent | None
) -> Generator[EpisodeRecord, None, None]:
    """Play the episodes of the shards, and yield the records to store."""

    def broken_off(slot: int) -> str:
        return lease.broken_off(slot) or turns.take(slot)

    play_all = partial(
        rollout,
        agent,
        num_envs=lambda: lease.wishes.num_envs,
        opponent=opponent,
        backend=claim.spec.backend,
        broken_off=broken_off,
    )
    retries, kinds = claim.spec.retries, ["environment", "unanswered"]
    if claim.spec.hidden_seeds:
        retries, kinds = RANKED_RETRIES, ["environment"]

    def discard_try(record: EpisodeRecord) -> None:
        if (held := lease.claim_of(record.index)) is not None:
            discard(held, record)

    with closing(with_retries(play_all, feed.shards(), retries, discard_try, kinds)) as episodes:
        for record in _as_ordered(lease, feed, episodes):
            if record.failed_by != "budget":
                yield record


class Recorded(NamedTuple):
    """What became of a job when episodes of it were recorded."""

    ended_job: bool = False
    """Whether it has ended with all its episodes."""
    is_over: bool = False
    """Whether too many errors or a comparison that they decided have ended it."""
    seconds: float = 0.0
    """How long it took to record them."""


def _record(lease: Lease, parts: Sequence[Part], seconds: WorkerSeconds, notes: Sequence[str]) -> Recorded:
    """Record episodes that have ended, and end their job if it has too many errors, or what decides its comparison.

    Raises:
        LeaseLost: if all shards were taken back.
    """
    started = monotonic()
    ended_job = False
    turns = sum(part.turns for part in parts)
    for part in parts:
        share = part.turns / turns if turns else 1 / len(parts)
        spent = WorkerSeconds(share * seconds.busy, share * seconds.agent)
        try:
            with lease.finishing(part.claim) if part.is_last else nullcontext():
                ended_job = leases.record_episodes(part.claim, part.records, spent, notes)
                if part.is_last:
                    leases.release_to_play_again(part.claim)
        except LeaseLost:
            lease.lose(part.claim)
            lease.check()
        notes = ()
    failpoint("recorded")
    claim = lease.claim
    has_errors = not ended_job and any(record.failure for part in parts for record in part.records)
    has_failed = has_errors and stop_over_errors(claim.job_id, claim.spec)
    is_decided = look(claim.job_id)  # also at the last episodes, which may decide other jobs
    return Recorded(ended_job, has_failed or is_decided, monotonic() - started)


def _as_ordered(lease: Lease, feed: Feed, episodes: Iterable[EpisodeRecord]) -> Iterator[EpisodeRecord]:
    """The records to store. An episode that a person cancelled is not solved or dropped, or is played again later."""
    for record in episodes:
        order = lease.wishes.orders.get(record.index) if record.failure == leases.CANCELLED else None
        claim = lease.claim_of(record.index)
        if claim is None:  # somebody has taken its shard back
            continue
        if order == Order.AGAIN:
            feed.leave_open(claim, record.index)
            continue
        if order == Order.FAIL:
            record.failure, record.failed_by, record.success = "", "", False
        elif record.failure == leases.CANCELLED:
            record.failed_by = ""
        yield record


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
    leave_out_what_is_loaded()


@worker_process_init.connect
def _share_the_processor(**_: Any) -> None:
    """Let threads that have heard from Postgres or a model server go on within a millisecond, not after five.

    While episodes are played, the books and the records of a worker wait for an answer several times a turn.
    """
    sys.setswitchinterval(SWITCH_SECONDS)


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
