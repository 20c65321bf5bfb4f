"""CPU seconds that workers spend for people, for their quotas."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import Self, TypeVar

import psutil
from django.db import Error as DatabaseError

from apps.accounts.models import CpuUse
from apps.accounts.quotas import record_cpu

logger = logging.getLogger(__name__)

T = TypeVar("T")

RECORD_SECONDS = 5.0
"""A worker that is killed forgets at most the CPU seconds of this time, because they are recorded as often."""


def cpu_seconds() -> float:
    """CPU seconds that this process has used, with its children that live or have ended, such as sandboxes."""
    this = psutil.Process()
    times = [this.cpu_times()]
    for child in this.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            times.append(child.cpu_times())
    parts = ("user", "system", "children_user", "children_system")  # those of ended children are known on Linux only
    return sum(float(getattr(each, part, 0.0)) for each in times for part in parts)


class CpuMeter:
    """A context manager that records the CPU seconds of this process for the owner of what it works on.

    Only one may be entered at a time in a process.
    """

    def __init__(self, owner_id: int | None, use: CpuUse.Use) -> None:
        self._owner_id, self._use = owner_id, use
        self._recorded = 0.0
        self._recorded_at = monotonic()

    @classmethod
    def of_checks(cls, owner_id: int | None) -> Self:
        """The meter of a check of what somebody has sent."""
        return cls(owner_id, CpuUse.Use.CHECKS)

    def __enter__(self) -> Self:
        self._recorded = cpu_seconds()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._record()

    def tick(self) -> None:
        """Record what was used until now, if that is due."""
        if monotonic() - self._recorded_at >= RECORD_SECONDS:
            self._record()

    def _record(self) -> None:
        """Record what was used. If the database is away, the next call tries again."""
        self._recorded_at = monotonic()
        if self._owner_id is None:
            return
        total = cpu_seconds()
        try:
            record_cpu(self._use, {self._owner_id: max(0.0, total - self._recorded)})
        except DatabaseError as error:
            logger.warning("CPU seconds of user %s are not recorded yet: %s", self._owner_id, error)
        else:
            self._recorded = total


@dataclass(slots=True, eq=False)
class _Call:
    """A call that runs."""

    owner_id: int | None
    since: float
    """When it began, or when its seconds were last counted."""


class CpuLedger:
    """Shares the CPU seconds of a host of live episodes between the people whose calls it runs at the same time.

    The calls run in threads, and much of their work in processes that several calls share. So what the host and its
    children have used since the last record is divided by the time that the calls of each person took in between,
    those that still run included.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._called: dict[int | None, float] = {}
        """Seconds of calls since the last record, by person; those for visitors count for nobody."""
        self._running: set[_Call] = set()
        self._recorded = cpu_seconds()

    def metered(self, owner_id: int | None, think: Callable[[], T]) -> Callable[[], T]:
        """`think`, whose calls count for a person."""

        def think_and_count() -> T:
            call = _Call(owner_id, monotonic())
            with self._lock:
                self._running.add(call)
            try:
                return think()
            finally:
                with self._lock:
                    self._running.remove(call)
                    self._count(call)

        return think_and_count

    def record(self) -> None:
        """Record the shares of all people. If the database is away, the next call tries again.

        Raises:
            django.db.Error: if it is.
        """
        total = cpu_seconds()
        with self._lock:
            for call in self._running:
                self._count(call)
            called, self._called = self._called, {}
        seconds = sum(called.values())
        used = max(0.0, total - self._recorded)
        if seconds > 0:
            shares = {owner_id: used * part / seconds for owner_id, part in called.items() if owner_id is not None}
            try:
                record_cpu(CpuUse.Use.LIVE, shares)
            except DatabaseError:
                with self._lock:
                    for owner_id, part in called.items():
                        self._add(owner_id, part)
                raise
        self._recorded = total

    def _count(self, call: _Call) -> None:
        """Add the seconds of a call until now. The caller holds the lock."""
        now = monotonic()
        self._add(call.owner_id, now - call.since)
        call.since = now

    def _add(self, owner_id: int | None, seconds: float) -> None:
        self._called[owner_id] = self._called.get(owner_id, 0.0) + seconds
