"""Who owns a row for some seconds, by the database's clock: shards, shows, pending turns and uploads.

A worker claims rows under a token of its own, renews the lease by a heartbeat while it works, and releases them. It
writes only to rows that it still owns, so a worker that was believed dead writes nothing (`LeaseLost`). A lease that
nobody renews runs out, and the row is free for others.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from datetime import timedelta
from time import monotonic
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import OperationalError, connection, models, transaction
from django.db.models import F, Q
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""How often a worker looks whether what it works on was taken from it."""


class LeaseLost(Exception):
    """The row belongs to another worker by now, or is no longer wanted: this one writes nothing more."""


Row = TypeVar("Row", bound="Leased")


class LeasedQuerySet(models.QuerySet[Row]):
    """What workers do with rows that they lease."""

    def free(self) -> Self:
        """Those that nobody owns, or no longer."""
        return self.filter(Q(lease_until=None) | Q(lease_until__lte=Now()))

    def claimable(self) -> Self:
        """Free ones that may be tried once more."""
        return self.free().filter(attempt__lt=settings.MAX_ATTEMPTS)

    def worn(self) -> Self:
        """Free ones that were claimed `MAX_ATTEMPTS` times: whatever works on them dies."""
        return self.free().filter(attempt__gte=settings.MAX_ATTEMPTS)

    def owned_by(self, token: UUID) -> Self:
        """Those that `token` owns now."""
        return self.filter(lease_token=token, lease_until__gt=Now())

    def claim(self, token: UUID, most: int, **changes: Any) -> list[Any]:
        """Lease up to `most` of these rows, the first ones that nobody else is claiming; their keys."""
        with transaction.atomic():
            keys = [row.pk for row in self.select_for_update(skip_locked=True, of=("self",))[:most]]
            claimed = type(self)(self.model).filter(pk__in=keys)
            claimed.update(lease_token=token, lease_until=_lease_end(), attempt=F("attempt") + 1, **changes)
        return keys

    def renew(self) -> int:
        """Prolong the leases of these rows; returns how many."""
        return self.update(lease_until=_lease_end())

    def release(self, **changes: Any) -> int:
        """Let go of these rows, with other `changes` in the same write; returns how many."""
        return self.update(lease_token=None, lease_until=None, **changes)


class Leased(models.Model):
    """A row that one worker owns while its lease lasts; its manager is one of a `LeasedQuerySet`."""

    lease_token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    attempt = models.PositiveSmallIntegerField(default=0)
    """How often it was claimed; what resets it is the model's own matter."""

    class Meta:
        abstract = True

    def let_go(self) -> None:
        """Release this row when it is saved."""
        self.lease_token = self.lease_until = None


def _lease_end() -> CombinedExpression:
    """When a lease ends that is taken or renewed now."""
    return Now() + timedelta(seconds=settings.LEASE_SECONDS)


class Heartbeat:
    """Renews a lease every `HEARTBEAT_SECONDS`, in a thread while a block lasts or, by `run`, in an event loop.

    Args:
        renew: prolongs the lease; returns whether it still held.
        holds: looks whether the lease still holds. With it a worker hears within a second that it does not.
    """

    def __init__(self, renew: Callable[[], object], holds: Callable[[], object] | None = None, *, name: str) -> None:
        self.lost = threading.Event()
        """Set once the lease does not hold, or the database could not be asked."""
        self._renew = renew
        self._holds = holds
        self._name = name
        self._over = threading.Event()
        self._renewed = monotonic()
        self._thread = threading.Thread(target=self._beat_until_over, name=f"lease-{name}", daemon=True)

    def start(self) -> None:
        """Begin to beat in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Beat no more; the lease is as it was."""
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
        """Beat until this is cancelled, in threads with a database connection; without the database, try again."""
        while True:
            await asyncio.sleep(self._seconds)
            try:
                await in_thread(self.beat)
            except DatabaseError as error:
                logger.warning("The leases of %s could not be renewed: %s", self._name, error)

    def beat(self) -> bool:
        """Renew the lease if it is time to, otherwise look at it; whether it holds."""
        if self._holds is not None and monotonic() - self._renewed < settings.HEARTBEAT_SECONDS:
            return bool(self._holds())
        held = bool(self._renew())
        self._renewed = monotonic()
        return held

    @property
    def _seconds(self) -> float:
        """From one beat to the next."""
        between: float = settings.HEARTBEAT_SECONDS
        return between if self._holds is None else min(LOOK_SECONDS, between)

    def _beat_until_over(self) -> None:
        try:
            while not self._over.wait(self._seconds):
                if not self.beat():
                    self.lost.set()
                    return
        except OperationalError as error:  # without the database nobody knows; what is written is fenced anyway
            logger.warning("The lease of %s could not be renewed: %s", self._name, error)
            self.lost.set()
        finally:
            connection.close()
