"""Figures of the site's health: space, transactions, locks, leases. The health page and Prometheus show the same."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models.functions import Now
from prometheus_client import Gauge

from apps import queue
from apps.agents.models import Upload
from apps.episodes.models import PendingTurn
from apps.jobs.models import Job, Shard
from apps.leases import LeasedQuerySet
from apps.play import pending
from apps.play.models import Show
from apps.play.shows import show_leases

_FREE = Gauge("gemweb_free_bytes", "Free bytes of the disk of a folder", ["folder"])
_TRANSACTION = Gauge("gemweb_longest_transaction_seconds", "Age of the longest transaction, backups excluded")
_BLOCKED = Gauge("gemweb_blocked_backends", "Connections of Postgres that wait for a lock")
_REAP = Gauge("gemweb_seconds_since_reap", "Seconds since the scheduler last finished its search for lost work")
_EXPIRED = Gauge(
    "gemweb_expired_leases",
    "Shards, live episodes, turns and uploads whose lease has expired and that nobody has taken back",
)
_WAITING = Gauge("gemweb_waiting", "Work that waits for a worker, by kind", ["queue", "kind"])
_LAST_ATTEMPTS = Gauge("gemweb_shards_on_last_attempt", "Shards whose job fails if they fail once more")


@dataclass(frozen=True, slots=True)
class Space:
    """The free space of the disk that a folder is on."""

    folder: str
    free: int
    """Bytes that this account may still use."""
    total: int
    """Bytes."""

    @property
    def percent(self) -> float:
        """The free part, in percent."""
        return 100 * self.free / self.total if self.total else 0.0


def spaces() -> list[Space]:
    """The disks that the site writes to, each once. A folder that does not exist yet stands for its parent."""
    folders: dict[str, str | Path] = {
        "database": settings.DATABASE_DIR,
        "state": settings.STATE_DIR,
        "runs": settings.RUNS_DIR,
        "temporary files": tempfile.gettempdir(),
    }
    by_device: dict[int, Space] = {}
    for name, folder in folders.items():
        if folder:
            place = _existing(Path(folder))
            usage = shutil.disk_usage(place)
            by_device.setdefault(os.stat(place).st_dev, Space(name, usage.free, usage.total))
    return list(by_device.values())


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists and can be entered."""
    return next(place for place in (folder, *folder.parents) if os.access(place, os.X_OK))


@dataclass(frozen=True, slots=True)
class Load:
    """What happens in the database now."""

    transaction_seconds: float
    """The age of the longest transaction of the site."""
    blocked: int
    """Connections that wait for a lock."""
    blocked_seconds: float
    """How long the transaction of the first of them has lasted."""
    expired_leases: int
    """Work whose lease has expired for longer than a search for lost work takes."""
    last_attempts: int
    """Shards that are not over and whose job fails if they fail once more."""


def load() -> Load:
    """Ask Postgres.

    Raises:
        django.db.DatabaseError: if it does not answer.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # a transaction would see the same activity for ever
        cursor.execute(
            """
            SELECT coalesce(extract(epoch FROM max(clock_timestamp() - xact_start)), 0),
                   count(*) FILTER (WHERE wait_event_type = 'Lock'),
                   coalesce(extract(epoch FROM max(clock_timestamp() - query_start)
                                               FILTER (WHERE wait_event_type = 'Lock')), 0)
            FROM pg_stat_activity
            WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
              AND application_name NOT IN ('pg_dump', 'pg_restore')
            """
        )
        age, blocked, blocked_seconds = cursor.fetchone()
    leased: list[LeasedQuerySet[Any]] = [
        Shard.objects.filter(state=Shard.State.RUNNING),
        Show.objects.filter(episode__status="running"),
        PendingTurn.objects.filter(problem=""),
        Upload.objects.waiting(),
    ]
    overdue = Now() - timedelta(seconds=settings.REAP_SECONDS)
    return Load(
        transaction_seconds=float(age),
        blocked=blocked,
        blocked_seconds=float(blocked_seconds),
        expired_leases=sum(rows.filter(lease_until__lte=overdue).count() for rows in leased),
        last_attempts=Shard.objects.filter(
            state__in=[Shard.State.QUEUED, Shard.State.RUNNING], attempt__gte=settings.MAX_ATTEMPTS - 1
        ).count(),
    )


def waiting() -> dict[str, dict[str, int]]:
    """What waits for a worker: the number of each kind of work, by the queue of its workers.

    Raises:
        django.db.DatabaseError: if Postgres does not answer.
    """
    shards = Shard.objects.filter(state=Shard.State.QUEUED, job__state__in=[Job.State.QUEUED, Job.State.RUNNING])
    return {
        "play": {"turns": pending.waiting().count(), "live episodes": show_leases.waiting().count()},
        "evaluate": {
            "shards": shards.filter(job__kind=Job.Kind.EVALUATION).count(),
            "uploads": Upload.objects.waiting().free().count(),
        },
        "train": {"trainings": shards.filter(job__kind=Job.Kind.TRAINING).count()},
    }


def seconds_since_reap() -> float | None:
    """Seconds since the scheduler last finished its search for lost work; None if that is not known.

    Raises:
        redis.RedisError: if Valkey does not answer.
    """
    return queue.seconds_since(queue.REAPED)


def export() -> None:
    """Set the gauges of Prometheus.

    Raises:
        django.db.DatabaseError, redis.RedisError: if Postgres or Valkey does not answer.
    """
    for space in spaces():
        _FREE.labels(space.folder).set(space.free)
    now = load()
    _TRANSACTION.set(now.transaction_seconds)
    _BLOCKED.set(now.blocked)
    _EXPIRED.set(now.expired_leases)
    _LAST_ATTEMPTS.set(now.last_attempts)
    for queue_name, counts in waiting().items():
        for kind, count in counts.items():
            _WAITING.labels(queue_name, kind).set(count)
    since = seconds_since_reap()
    _REAP.set(float("nan") if since is None else since)
