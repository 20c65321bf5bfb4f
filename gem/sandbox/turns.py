"""Taking turns: how a process that runs the programs of many people keeps short programs from waiting for long ones.

A program that has run for `QUICK_SECONDS` while another one waits is ended, and started again from its beginning in the
slow lane, which has half of the sandboxes. A program gets all its input at the start, so both runs are alike.
This costs time, so training and evaluation, where all programs belong to one person, do without it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic

from gem.errors import EnvironmentFailure
from gem.sandbox.backends import Sandbox
from gem.sandbox.job import JobInterrupted, SandboxJob
from gem.sandbox.limits import Level, Result
from gem.sandbox.pool import NO_LIBRARIES, Pool

QUICK_SECONDS = 0.5
"""How long a program may run in any case."""

_thread = threading.local()
_are_taken = False


def take_turns() -> None:
    """Let the programs of this process take turns. Called before the first one runs."""
    global _are_taken  # noqa: PLW0603 (one for each process)
    _are_taken = True


def are_taken() -> bool:
    """Whether the programs of this process take turns."""
    return _are_taken


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """End the programs that this thread runs in the block when so many seconds are over, if programs take turns.

    Raises:
        EnvironmentFailure: from the call that ran the program.
    """
    _thread.deadline = monotonic() + seconds
    try:
        yield
    finally:
        _thread.deadline = None


class FairPool(Pool):
    """A pool whose programs take turns."""

    def __init__(self, level: Level, size: int | None = None) -> None:
        super().__init__(level, size)
        self._slow_lane = threading.Semaphore(max(1, self.size // 2))
        self._num_waiting = 0

    def take_many(self, count: int, libraries: frozenset[str] = NO_LIBRARIES) -> list[Sandbox]:
        """See `Pool.take_many`."""
        with self._changed:
            self._num_waiting += 1
        try:
            return super().take_many(count, libraries)
        finally:
            with self._changed:
                self._num_waiting -= 1

    def execute(self, job: SandboxJob, libraries: frozenset[str] = NO_LIBRARIES) -> Result:
        """See `Pool.execute`.

        Raises:
            SandboxUnavailable: if no sandbox can be started.
            EnvironmentFailure: if the time is over (see `within`).
        """
        deadline: float | None = getattr(_thread, "deadline", None)

        def is_over(_: float = 0.0) -> bool:
            return deadline is not None and monotonic() > deadline

        def should_yield(seconds: float) -> bool:
            return is_over() or (seconds > QUICK_SECONDS and self._num_waiting > 0)

        try:
            return super().execute(replace(job, should_yield=should_yield), libraries)
        except JobInterrupted:
            _check(is_over())
        has_place = self._slow_lane.acquire(timeout=None if deadline is None else max(0.0, deadline - monotonic()))
        _check(not has_place)
        try:
            if job.restarted is not None:
                job.restarted()
            return super().execute(replace(job, should_yield=is_over), libraries)
        except JobInterrupted as error:
            raise _too_long() from error
        finally:
            self._slow_lane.release()


def _check(is_over: bool) -> None:
    if is_over:
        raise _too_long()


def _too_long() -> EnvironmentFailure:
    return EnvironmentFailure("The programs of this turn did not end in time.")
