"""Messages to workers. Nothing else in the apps sends Celery tasks.

A task is sent by its name, with ids as arguments, after the transaction has committed. A lost message loses no work:
Postgres holds what has to be done, and the reaper sends the message again.
"""

import functools
import logging
import os
import platform
from dataclasses import dataclass

import redis
from celery import Celery
from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string
from kombu.exceptions import OperationalError

from apps.pauses import Pause

logger = logging.getLogger(__name__)

_pause = Pause()
"""After the broker has not taken a message, it is offered none: whoever sends would wait 6 to 8 s for each."""


def enqueue(task: str, *ids: str | int) -> None:
    """Wake a worker: run the task called `task` with `ids`, once the current transaction commits."""
    transaction.on_commit(lambda: _send(task, ids))


def _send(task: str, ids: tuple[str | int, ...]) -> None:
    if _pause.lasts:
        logger.warning(
            "The broker was not offered %s%s, because it does not answer; the reaper will send it", task, ids
        )
        return
    try:
        _celery().send_task(task, args=ids, retry=False)
    except OperationalError as error:
        _pause.begin()
        logger.warning("The broker did not take %s%s; the reaper will send it again: %s", task, ids, error)


@functools.cache
def _celery() -> Celery:
    """The Celery application, imported by its setting, because apps do not import the project around them."""
    app: Celery = import_string(settings.CELERY_APP)
    return app


# ---------------------------------------------------------------- heartbeats of workers

_HEARTBEAT = "heartbeat"


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker process with a recent heartbeat."""

    queue: str
    host: str
    pid: int
    age: float
    """Seconds since its last heartbeat."""


@functools.cache
def _valkey() -> redis.Redis:
    return redis.Redis.from_url(settings.VALKEY_URL, socket_timeout=2, socket_connect_timeout=2)


def beat(queue: str) -> None:
    """Store a heartbeat of this process, which serves `queue`. Call it every `HEARTBEAT_SECONDS`.

    A worker whose heartbeat cannot be stored keeps working; only the health page misses it.
    """
    name = f"{_HEARTBEAT}:{queue}:{platform.node()}:{os.getpid()}"
    try:
        _valkey().set(name, 1, px=_expiry_ms())
    except redis.RedisError as error:
        logger.warning("The heartbeat of %s could not be stored: %s", queue, error)


REAPED = "reaped"
"""What the scheduler notes when it has finished a search for lost work."""
DISK_FULL = "disk-full"
"""What a process notes whose write failed because there is no space left."""
_NOTE_SECONDS = 24 * 3600


def note(what: str) -> None:
    """Remember for a day that something has happened now, for the health page."""
    try:
        _valkey().set(f"note:{what}", 1, ex=_NOTE_SECONDS)
    except redis.RedisError as error:
        logger.warning("It could not be noted that %s: %s", what, error)


def seconds_since(what: str) -> float | None:
    """Seconds since `note` was last called; None if that is longer ago than a day.

    Raises:
        redis.RedisError: if Valkey does not answer.
    """
    remaining_ms: int = _valkey().pttl(f"note:{what}")
    return max(0.0, _NOTE_SECONDS - remaining_ms / 1000) if remaining_ms > 0 else None


def workers_alive() -> list[Worker]:
    """Every worker process with a heartbeat younger than `LEASE_SECONDS`, by queue.

    Raises:
        redis.RedisError: if Valkey does not answer.
    """
    expiry = _expiry_ms()
    workers = []
    names = list(set(_valkey().scan_iter(f"{_HEARTBEAT}:*", count=500)))  # a scan may return a name twice
    pipeline = _valkey().pipeline(transaction=False)
    for name in names:
        pipeline.pttl(name)
    for name, remaining_ms in zip(names, pipeline.execute(), strict=True):
        _, queue, host, pid = name.decode().split(":", 3)
        if remaining_ms > 0:
            workers.append(Worker(queue, host, int(pid), max(0.0, (expiry - remaining_ms) / 1000)))
    return sorted(workers, key=lambda worker: (worker.queue, worker.host, worker.pid))


def _expiry_ms() -> int:
    lease: float = settings.LEASE_SECONDS
    return round(lease * 1000)
