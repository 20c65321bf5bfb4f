"""A pool of as many sandboxes as there are cores, shared by the threads of a process."""

from __future__ import annotations

import atexit
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec

from gem.errors import SandboxUnavailable
from gem.sandbox.backends import Sandbox, open_sandbox
from gem.sandbox.job import JobInterrupted, SandboxJob, SlotDied, encoded
from gem.sandbox.limits import Level, Limits, Result

LIBRARIES = ("numpy", "pandas", "sympy")
"""Libraries that are slow to import (0.2 to 1.5 s). A sandbox imports those that a program names, once."""
STANDARD_MODULES = (
    "bisect", "cmath", "collections", "copy", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools",
    "heapq", "io", "itertools", "json", "math", "operator", "random", "re", "statistics", "string", "threading", "time",
    "traceback", "typing",
)  # fmt: skip
"""Modules that every sandbox imports beforehand."""
MAX_JOBS_PER_SANDBOX = 2000
"""Number of jobs after which a sandbox is replaced, in case something accumulates in it."""
ATTEMPTS = 2
"""How many sandboxes a job is given to if they die; after that, the job is considered the cause."""
NO_LIBRARIES: frozenset[str] = frozenset()
_LIBRARY_NAMES = re.compile(rf"\b({'|'.join(LIBRARIES)})\b")


class Pool:
    """Runs jobs, `size` at a time; the others wait their turn.

    Args:
        level: how code is confined.
        size: how many sandboxes there are at most; the default is one for each core that this process may use, and
            at least two.
    """

    def __init__(self, level: Level, size: int | None = None) -> None:
        self.level = level
        self.size = size or max(2, len(os.sched_getaffinity(0)))
        self._idle: list[Sandbox] = []
        self._busy = 0
        """Number of sandboxes that run a job or are being started."""
        self._sandboxes: set[Sandbox] = set()
        """All sandboxes that were started and have not been ended, idle or busy."""
        self._changed = threading.Condition()
        self._is_closed = False

    def run(self, code: str, *, stdin: str = "", limits: Limits | None = None) -> Result:
        """Run a program (see `gem.sandbox.run`)."""
        job = SandboxJob(encoded(code), encoded(stdin), limits or Limits())
        return self.execute(job, libraries_in(code))

    def execute(self, job: SandboxJob, libraries: frozenset[str] = NO_LIBRARIES) -> Result:
        """Run a job in a sandbox that has imported `libraries`.

        Raises:
            SandboxUnavailable: if no sandbox can be started.
        """
        for _ in range(ATTEMPTS):
            try:
                return self._execute_in(self.take(libraries), job)
            except SlotDied:
                continue
        message = "The sandbox ended together with the code.\n"
        return Result("killed", "", message, job.limits.wall_seconds, 0.0, self.level)

    def execute_pair(
        self, first: SandboxJob, second: SandboxJob, libraries: frozenset[str] = NO_LIBRARIES
    ) -> tuple[Result, Result]:
        """Run two jobs at the same time, each in a sandbox of its own; they may be connected by pipes.

        Raises:
            SandboxUnavailable: if no sandbox can be started.
            SlotDied: if one of the sandboxes ended; the descriptors of both jobs are closed.
        """
        first_sandbox, second_sandbox = self.take_many(2, libraries)
        with ThreadPoolExecutor(1) as thread:
            future = thread.submit(self._execute_in, second_sandbox, second)
            return self._execute_in(first_sandbox, first), future.result()

    def _execute_in(self, sandbox: Sandbox, job: SandboxJob) -> Result:
        """Run a job in a sandbox that was taken for it, and return the sandbox to the pool."""
        try:
            result = sandbox.execute(job)
        except JobInterrupted:
            self.give_back(sandbox)
            raise
        except BaseException:  # also on an interrupt: otherwise the sandbox would count as busy for ever
            self.give_back(sandbox, is_broken=True)
            raise
        self.give_back(sandbox)
        return result

    def take(self, libraries: frozenset[str] = NO_LIBRARIES) -> Sandbox:
        """Take a sandbox for one job, with `libraries` imported; wait for one if all are busy."""
        return self.take_many(1, libraries)[0]

    def take_many(self, count: int, libraries: frozenset[str] = NO_LIBRARIES) -> list[Sandbox]:
        """Take several sandboxes at once, so that two callers that need two each cannot wait for each other."""
        with self._changed:
            while not self._is_closed and self.size - self._busy < count:
                self._changed.wait()
            if self._is_closed:
                raise SandboxUnavailable("The pool of sandboxes has been closed.")
            chosen = [self._choose(libraries) for _ in range(count)]
        sandboxes = [sandbox for sandbox in chosen if sandbox is not None]
        try:
            for sandbox in sandboxes:
                if not sandbox.has(libraries):
                    sandbox.import_also(libraries)
            while len(sandboxes) < count:
                sandboxes.append(open_sandbox(self.level, (*STANDARD_MODULES, *sorted(libraries))))
                self._sandboxes.add(sandboxes[-1])
        except BaseException as error:  # as above
            self._discard(sandboxes, count)
            if isinstance(error, SlotDied):
                raise SandboxUnavailable("A sandbox ended while it imported a package.") from error
            raise
        return sandboxes

    def _choose(self, libraries: frozenset[str]) -> Sandbox | None:
        """Take an idle sandbox, or return None if a new one is better; either counts as busy from now on.

        Of the idle sandboxes with all libraries, the one with the fewest modules is taken, because it forks fastest.
        If there is none, a new one is started as long as the pool is not full; otherwise the one with the most
        modules imports the missing libraries. So the sandboxes adapt to a mixture of programs.

        The caller holds the lock.
        """
        suitable = [sandbox for sandbox in self._idle if sandbox.has(libraries)]
        has_room = len(self._idle) + self._busy < self.size
        self._busy += 1
        if (not suitable and has_room) or not self._idle:
            return None
        sandbox = min(suitable, key=_module_count) if suitable else max(self._idle, key=_module_count)
        self._idle.remove(sandbox)
        return sandbox

    def _discard(self, sandboxes: list[Sandbox], count: int) -> None:
        """End sandboxes and free `count` places, which includes those of sandboxes that did not start."""
        try:
            for sandbox in sandboxes:
                self._end(sandbox)
        finally:
            with self._changed:
                self._busy -= count
                self._changed.notify_all()

    def give_back(self, sandbox: Sandbox, *, is_broken: bool = False) -> None:
        """Return a sandbox to the pool; a broken or old one is ended, which frees its place for a new one."""
        with self._changed:  # decided under the lock, so that a concurrent `close` cannot miss the sandbox
            is_spent = is_broken or self._is_closed or sandbox.jobs >= MAX_JOBS_PER_SANDBOX
            if not is_spent:
                self._idle.append(sandbox)
                self._busy -= 1
                self._changed.notify_all()
        if is_spent:
            self._discard([sandbox], 1)

    def close(self) -> None:
        """End all sandboxes; busy ones are ended after their job."""
        with self._changed:
            self._is_closed = True
            idle, self._idle = self._idle, []
            self._changed.notify_all()
        for sandbox in idle:
            self._end(sandbox)

    def _end(self, sandbox: Sandbox) -> None:
        self._sandboxes.discard(sandbox)
        sandbox.close()

    def abandon_after_fork(self) -> None:
        """In a forked process: leave the sandboxes to the process that started them."""
        for sandbox in self._sandboxes:
            sandbox.abandon_after_fork()


def libraries_in(code: str) -> frozenset[str]:
    """The slow libraries that a program names and that are installed."""
    return frozenset(_LIBRARY_NAMES.findall(code)) & _installed_libraries()


@cache
def _installed_libraries() -> frozenset[str]:
    return frozenset(name for name in LIBRARIES if find_spec(name) is not None)


def _module_count(sandbox: Sandbox) -> int:
    return len(sandbox.preload)


_lock = threading.Lock()
_shared: Pool | None = None


def shared() -> Pool:
    """The pool of this process, made by the first call.

    Raises:
        SandboxUnavailable: if this machine cannot confine code.
    """
    from gem.sandbox.levels import choice  # noqa: PLC0415 (only needed where code is run)
    from gem.sandbox.turns import FairPool, are_taken  # noqa: PLC0415 (it extends the pool)

    global _shared  # noqa: PLW0603 (one for each process)
    level_choice = choice()
    with _lock:
        if _shared is None:
            if level_choice.level == "disabled":
                raise SandboxUnavailable(level_choice.message)
            _shared = (FairPool if are_taken() else Pool)(level_choice.level)
            atexit.register(close_shared)
        return _shared


def close_shared() -> None:
    """End the sandboxes of this process; the next run starts new ones."""
    global _shared
    with _lock:
        pool, _shared = _shared, None
    if pool is not None:
        pool.close()


def _after_fork() -> None:
    """Drop the pool in a forked process: parent and child would write to the same sockets."""
    global _shared, _lock  # noqa: PLW0603
    _lock = threading.Lock()
    if _shared is not None:
        _shared.abandon_after_fork()
        _shared = None


if hasattr(os, "register_at_fork"):  # everywhere but on Windows
    os.register_at_fork(after_in_child=_after_fork)
