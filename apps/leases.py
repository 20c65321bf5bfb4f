"""Leases of rows: one worker owns a shard, show, pending turn or upload for some seconds, by the database's clock.

A worker claims rows with a token of its own, renews the leases by a heartbeat while it works, and releases the rows at
the end. It writes only to rows that it still owns, so a worker that lost a lease writes nothing (`LeaseLost`). A lease
that nobody renews expires, and another worker can claim the row.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import UUID

from django.apps import apps
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import OperationalError, connection, models, transaction
from django.db.models import F, Q
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now
from psycopg.errors import LockNotAvailable

from apps.holders import has_died, tokens_of_this_machine

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""Seconds between two checks of a worker that it still holds its lease."""
LOCK_SECONDS = 1.0
"""Seconds that whoever recovers lost work waits for a row that somebody else has locked."""


class LeaseLost(Exception):
    """The worker no longer owns the row, because another one has it or its work was cancelled. It must not write."""


class RowsLocked(Exception):
    """Somebody else holds a row locked, perhaps a process that is frozen in the middle of a write."""


Row = TypeVar("Row", bound="Leased")


class LeasedQuerySet(models.QuerySet[Row]):
    """Queries and writes of workers on the rows that they lease."""

    def free(self) -> Self:
        """Rows without an owner: never claimed, released, or with an expired lease."""
        return self.filter(Q(lease_until=None) | Q(lease_until__lte=Now()))

    def claimable(self) -> Self:
        """Free rows that may be tried once more."""
        return self.free().filter(attempt__lt=settings.MAX_ATTEMPTS)

    def worn(self) -> Self:
        """Free rows that were claimed `MAX_ATTEMPTS` times. Every worker that tried them died."""
        return self.free().filter(attempt__gte=settings.MAX_ATTEMPTS)

    def owned_by(self, token: UUID) -> Self:
        """Rows that `token` owns now."""
        return self.filter(lease_token=token, lease_until__gt=Now())

    def claim(self, token: UUID, most: int, **changes: Any) -> list[Any]:
        """Lease up to `most` of these rows and return their keys. Rows that others are claiming are skipped."""
        with transaction.atomic():
            keys = [row.pk for row in self.select_for_update(skip_locked=True, of=("self",))[:most]]
            claimed = type(self)(self.model).filter(pk__in=keys)
            claimed.update(lease_token=token, lease_until=_lease_end(), attempt=F("attempt") + 1, **changes)
        return keys

    def renew(self) -> int:
        """Prolong the leases of these rows. Returns the number of rows."""
        return self.update(lease_until=_lease_end())

    def expire(self) -> int:
        """Let the leases of these rows end now. Returns the number of rows."""
        return self.update(lease_until=Now())

    def release(self, **changes: Any) -> int:
        """End the leases of these rows, with other `changes` in the same write. Returns the number of rows."""
        return self.update(lease_token=None, lease_until=None, **changes)


class Leased(models.Model):
    """A row that one worker owns while its lease lasts. Its manager is made from a `LeasedQuerySet`."""

    lease_token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    attempt = models.PositiveSmallIntegerField(default=0)
    """How often it was claimed. Each model decides when this is reset."""

    class Meta:
        abstract = True

    def let_go(self) -> None:
        """Clear the lease. The caller saves the row."""
        self.lease_token = self.lease_until = None


def _lease_end() -> CombinedExpression:
    """When a lease that is taken or renewed now expires."""
    return Now() + timedelta(seconds=settings.LEASE_SECONDS)


@contextmanager
def patient_transaction() -> Iterator[None]:
    """A transaction that waits for a locked row for `LOCK_SECONDS` only, so that one locked row delays nobody for long.

    Raises:
        RowsLocked: if a row stays locked. Nothing is written then; the caller goes on with its other work.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
            yield
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            raise RowsLocked(str(error).strip()) from error
        raise


def expire_leases_of_the_dead() -> int:
    """End the leases of processes of this machine that have died, as if nobody had renewed them. Returns their number.

    Shows, pending turns and uploads can then be claimed by others; the reaper takes back the shards.
    """
    leased: list[LeasedQuerySet[Any]] = [
        LeasedQuerySet(model) for model in apps.get_models() if issubclass(model, Leased)
    ]
    holders = [_held_on_this_machine(rows).values_list("lease_token").order_by() for rows in leased]
    if not any(has_died(token) for (token,) in holders[0].union(*holders[1:])):  # which is nearly always so
        return 0
    count = 0
    for rows in leased:
        with transaction.atomic():
            held = _held_on_this_machine(rows).select_for_update(skip_locked=True, of=("self",)).only("lease_token")
            count += rows.filter(pk__in=[row.pk for row in held if has_died(row.lease_token)]).expire()
    if count:
        logger.warning("Leases of processes that have died were ended: %s", count)
    return count


def _held_on_this_machine(rows: LeasedQuerySet[Any]) -> LeasedQuerySet[Any]:
    return rows.filter(lease_token__range=tokens_of_this_machine(), lease_until__gt=Now())


def end_overdue_transactions() -> int:
    """End the transactions of web and worker processes that exceed `TRANSACTION_SECONDS`. Returns their number.

    Postgres does this itself, except for a COPY whose client sends nothing more: it waits for the client for ever.
    """
    if not settings.TRANSACTION_SECONDS:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE application_name = %s AND datname = current_database() AND pid <> pg_backend_pid()
              AND usename = current_user AND xact_start < clock_timestamp() - make_interval(secs => %s)
            """,
            [settings.BOUNDED_APPLICATION, settings.TRANSACTION_SECONDS],
        )
        count: int = cursor.fetchone()[0]
    if count:
        logger.warning("Transactions that took more than %s s were ended: %s", settings.TRANSACTION_SECONDS, count)
    return count


class Heartbeat:
    """Renews a lease every `HEARTBEAT_SECONDS`, in a thread while a block lasts or, by `run`, in an event loop.

    Args:
        renew: prolongs the lease and returns whether it still held.
        holds: reads whether the lease still holds. With it, a worker notices within a second that it does not.
    """

    def __init__(self, renew: Callable[[], object], holds: Callable[[], object] | None = None, *, name: str) -> None:
        self.lost = threading.Event()
        """Set when the lease is lost, or when the database could not be reached for as long as it lasts."""
        self._renew = renew
        self._holds = holds
        self._name = name
        self._over = threading.Event()
        self._renewed = monotonic()
        self._thread = threading.Thread(target=self._beat_until_over, name=f"lease-{name}", daemon=True)

    def start(self) -> None:
        """Start a thread that renews the lease."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread. The lease stays as it is."""
        self._over.set()
        self._thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    async def run(self, in_thread: Callable[[Callable[[], bool]], Awaitable[bool]]) -> None:
        """Renew the lease until this coroutine is cancelled. After a database error, try again at the next beat.

        Args:
            in_thread: runs a function in a thread that has a database connection.
        """
        while True:
            await asyncio.sleep(self._seconds)
            try:
                await in_thread(self.beat)
            except DatabaseError as error:
                logger.warning("The leases of %s could not be renewed: %s", self._name, error)

    def beat(self) -> bool:
        """Renew the lease if that is due, otherwise only check it. Returns whether it holds."""
        if self._holds is not None and monotonic() - self._renewed < settings.HEARTBEAT_SECONDS:
            return bool(self._holds())
        held = bool(self._renew())
        self._renewed = monotonic()
        return held

    @property
    def _seconds(self) -> float:
        """Seconds between two beats."""
        interval: float = settings.HEARTBEAT_SECONDS
        return interval if self._holds is None else min(LOOK_SECONDS, interval)

    def _beat_until_over(self) -> None:
        """Renew until the end. While the database is away, the lease may still hold, so this tries until it expires."""
        try:
            while not self._over.wait(self._seconds):
                try:
                    held = self.beat()
                except DatabaseError as error:
                    logger.warning("The lease of %s could not be renewed: %s", self._name, error)
                    connection.close()  # the next beat opens another one
                    held = monotonic() - self._renewed < settings.LEASE_SECONDS
                if not held:
                    self.lost.set()
                    return
        finally:
            connection.close()
