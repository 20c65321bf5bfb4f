"""As many sandboxes as there are cores, shared by the threads of a process."""

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
from gem.sandbox.collect import Job, SlotDied
from gem.sandbox.limits import Level, Limits, Result

LIBRARIES = ("numpy", "pandas", "sympy")
"""Slow to import (0.2 to 1.5 s), so a zygote imports those that the code names, once."""
STANDARD = (
    "bisect", "cmath", "collections", "copy", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools",
    "heapq", "io", "itertools", "json", "math", "operator", "random", "re", "statistics", "string", "threading", "time",
    "traceback", "typing",
)  # fmt: skip
JOBS_PER_SLOT = 2000
"""A zygote is replaced after so many, whatever may have piled up in it."""
TRIES = 2
"""A job whose sandbox died is given to a second one; then it is the job's fault."""
NONE: frozenset[str] = frozenset()
_NAMES = re.compile(rf"\b({'|'.join(LIBRARIES)})\b")


class Pool:
    """Runs jobs, `size` at a time; the others wait their turn.

    Args:
        level: how code is confined.
        size: sandboxes held at once; by default one for each core that this process may use, at least two.
    """

    def __init__(self, level: Level, size: int | None = None) -> None:
        self.level = level
        self.size = size or max(2, len(os.sched_getaffinity(0)))
        self._idle: list[Sandbox] = []
        self._busy = 0
        """Those at work or being started."""
        self._slots: set[Sandbox] = set()
        """All that were started and not ended, idle or at work."""
        self._changed = threading.Condition()
        self._closed = False

    def run(self, code: str, *, stdin: str = "", limits: Limits | None = None) -> Result:
        """As `gem.sandbox.run`."""
        content = code.encode("utf-8", "surrogateescape")
        job = Job(content, stdin.encode("utf-8", "surrogateescape"), limits or Limits())
        return self.execute(job, libraries_in(code))

    def execute(self, job: Job, libraries: frozenset[str] = NONE) -> Result:
        """Run a job in a sandbox that has imported `libraries`.

        Raises:
            SandboxUnavailable: if no sandbox can be started.
        """
        for _ in range(TRIES):
            try:
                return self._execute_in(self.take(libraries), job)
            except SlotDied:
                continue
        said = "The sandbox ended together with the code.\n"
        return Result("killed", "", said, job.limits.wall_seconds, 0.0, self.level)

    def execute_pair(self, first: Job, second: Job, libraries: frozenset[str] = NONE) -> tuple[Result, Result]:
        """Run two jobs at the same time, each in a sandbox of its own; they may be joined by pipes.

        Raises:
            SandboxUnavailable: if no sandbox can be started.
            SlotDied: if one of the sandboxes ended; the descriptors of both jobs are closed.
        """
        one, other = self.take_many(2, libraries)
        with ThreadPoolExecutor(1) as thread:
            beside = thread.submit(self._execute_in, other, second)
            return self._execute_in(one, first), beside.result()

    def _execute_in(self, slot: Sandbox, job: Job) -> Result:
        """Run a job in a sandbox that was taken for it, and give that back; a second try is not possible."""
        try:
            result = slot.execute(job)
        except BaseException:  # even if this is interrupted: its place would be taken for ever
            self.give_back(slot, broken=True)
            raise
        self.give_back(slot)
        return result

    def take(self, libraries: frozenset[str] = NONE) -> Sandbox:
        """A sandbox for one job, with `libraries` imported; waits for one if all are busy."""
        return self.take_many(1, libraries)[0]

    def take_many(self, count: int, libraries: frozenset[str] = NONE) -> list[Sandbox]:
        """Several sandboxes at once, so that two that need two each cannot wait for each other."""
        with self._changed:
            while not self._closed and self.size - self._busy < count:
                self._changed.wait()
            if self._closed:
                raise SandboxUnavailable("The pool of sandboxes has been closed.")
            found = [slot for slot in [self._choose(libraries) for _ in range(count)] if slot is not None]
        try:
            for slot in found:
                if not slot.has(libraries):
                    slot.import_also(libraries)
            while len(found) < count:
                found.append(open_sandbox(self.level, (*STANDARD, *sorted(libraries))))
                self._slots.add(found[-1])
        except BaseException as error:  # as above
            self._lose(found, count)
            if isinstance(error, SlotDied):
                raise SandboxUnavailable("A sandbox ended while it imported a package.") from error
            raise
        return found

    def _choose(self, libraries: frozenset[str]) -> Sandbox | None:
        """An idle sandbox, or None if a new one is better; either is counted as busy from now on. The lock is held.

        Small ones fork faster, so the smallest that has everything is taken. If none has, there is a new one as
        long as there may be one, and otherwise the largest learns more: so a mixture of programs settles.
        """
        fitting = [slot for slot in self._idle if slot.has(libraries)]
        room = len(self._idle) + self._busy < self.size
        self._busy += 1
        if (not fitting and room) or not self._idle:
            return None
        chosen = min(fitting, key=_size) if fitting else max(self._idle, key=_size)
        self._idle.remove(chosen)
        return chosen

    def _lose(self, slots: list[Sandbox], count: int) -> None:
        """End sandboxes that nobody will use again; `count` places are free then, with those that did not start."""
        try:
            for slot in slots:
                self._end(slot)
        finally:
            with self._changed:
                self._busy -= count
                self._changed.notify_all()

    def give_back(self, slot: Sandbox, *, broken: bool = False) -> None:
        """Let others use a sandbox; a broken or old one is ended, and its place is free for a new one."""
        with self._changed:  # or `close` could come in between and miss it
            spent = broken or self._closed or slot.jobs >= JOBS_PER_SLOT
            if not spent:
                self._idle.append(slot)
                self._busy -= 1
                self._changed.notify_all()
        if spent:
            self._lose([slot], 1)

    def close(self) -> None:
        """End all sandboxes; those at work end with their job."""
        with self._changed:
            self._closed = True
            idle, self._idle = self._idle, []
            self._changed.notify_all()
        for slot in idle:
            self._end(slot)

    def _end(self, slot: Sandbox) -> None:
        self._slots.discard(slot)
        slot.close()

    def forget(self) -> None:
        """In a forked process: let go of the sandboxes, which stay those of the process that made them."""
        for slot in self._slots:
            slot.forget()


def libraries_in(code: str) -> frozenset[str]:
    """The slow libraries that a program names and that are installed."""
    return frozenset(_NAMES.findall(code)) & _installed()


@cache
def _installed() -> frozenset[str]:
    return frozenset(name for name in LIBRARIES if find_spec(name) is not None)


def _size(slot: Sandbox) -> int:
    return len(slot.preload)


_lock = threading.Lock()
_shared: Pool | None = None


def shared() -> Pool:
    """The pool of this process, made when first asked for.

    Raises:
        SandboxUnavailable: if this machine cannot confine code.
    """
    from gem.sandbox.levels import choice  # noqa: PLC0415 (it tries the levels with slots)

    global _shared  # noqa: PLW0603 (one for each process)
    chosen = choice()
    with _lock:
        if _shared is None:
            if chosen.level == "disabled":
                raise SandboxUnavailable(chosen.said)
            _shared = Pool(chosen.level)
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
    """A forked process shares no sandbox with its parent: both would write to the same socket."""
    global _shared, _lock  # noqa: PLW0603
    _lock = threading.Lock()
    if _shared is not None:
        _shared.forget()
        _shared = None


if hasattr(os, "register_at_fork"):  # everywhere but on Windows
    os.register_at_fork(after_in_child=_after_fork)
