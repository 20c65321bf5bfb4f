"""Evaluations: claim a shard, play it, write it down, until there is nothing left to claim."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from multiprocessing import RawValue
from time import monotonic
from typing import Any

from celery import current_app
from celery.signals import worker_process_init, worker_shutting_down
from django.conf import settings

from apps.agents.players import player
from apps.failpoints import failpoint
from apps.jobs import leases
from apps.jobs.leases import Claim, WorkerSeconds
from apps.leaderboard.operations import record_scores
from apps.queue import beat, enqueue
from gem.records import EpisodeRecord
from gem.rollout import rollout
from workers.lease import Lease, WatchedAsync, watched

CHUNK_SECONDS = 0.5
"""A job's page shows episodes about that soon after they end."""
CHUNK_EPISODES = 500

TURN_SECONDS = 15.0
"""After so long a worker asks the broker again, so that the reaper's messages get their turn on a busy site."""

_stop = RawValue(ctypes.c_bool, False)  # made before the pool forks, so that its processes see the parent set it


@current_app.task(name="evaluate.shards")
def shards(job_id: str) -> None:
    """Play shards until none is left or others may want this worker; `job_id` only says what woke it."""
    until = monotonic() + TURN_SECONDS
    while not stopping() and (claim := leases.claim()) is not None:
        failpoint("claimed")
        ended = False
        with Lease(claim, stopping) as lease:
            ended = play(claim, lease)
        if ended and claim.spec.benchmark:
            failpoint("ended")
            record_scores(claim.job_id)
        if monotonic() >= until:
            enqueue("evaluate.shards", job_id)
            return


def play(claim: Claim, lease: Lease) -> bool:
    """Play what is left of a shard and record it as it finishes; whether the job ended with it.

    Raises:
        LeaseLost, Stopping: as `Lease.check`; what was recorded stays.
    """
    agent = watched(player(claim.agent, claim.set_up), lease)
    opponent = watched(player(claim.opponent), lease) if claim.opponent else None
    slow = isinstance(agent, WatchedAsync) or isinstance(opponent, WatchedAsync)
    ended = False
    started = monotonic()
    episodes = rollout(agent, claim.slots(), num_envs=claim.spec.num_envs, opponent=opponent)
    for records in _chunks(episodes, 0.0 if slow else CHUNK_SECONDS):
        lease.check()
        failpoint("played")
        of_agent = agent.take_seconds()
        ended = leases.record_episodes(claim, records, WorkerSeconds(monotonic() - started, of_agent))
        failpoint("recorded")
        if not ended and leases.stop_over_budget(claim):
            return False
        started = monotonic()
        agent.take_seconds()  # it may be awaited while episodes are stored, and that time counts as storing
    return ended


def _chunks(records: Iterator[EpisodeRecord], seconds: float) -> Iterator[list[EpisodeRecord]]:
    """Records in lists of about so many seconds each; those of slow agents one by one, as they end."""
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
    """Whether this worker was told to end."""
    return bool(_stop.value)


@worker_shutting_down.connect
def _begin_to_stop(**_: Any) -> None:
    _stop.value = True


@worker_process_init.connect
def _show_life(**_: Any) -> None:
    """Let the health page know of every process that can play; the scheduler, which cannot, begins here too."""
    for queue in ("evaluate", "train"):
        if queue in current_app.amqp.queues.consume_from:
            threading.Thread(target=_beat, args=(queue,), name="beat", daemon=True).start()


def _beat(queue: str) -> None:
    while not stopping():
        beat(queue)
        threading.Event().wait(settings.HEARTBEAT_SECONDS)
