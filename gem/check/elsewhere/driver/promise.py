"""A promise, what can be said of one, and limits of time."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

CPU_SECONDS = 30.0
"""The most processor time that one promise may take. The time of a clock would depend on what else the machine does."""

PATHS = "import sys; sys.path[:] = [entry for entry in sys.path if entry] + ['']; "
"""The beginning of programs for `python -c`: the current folder, which may have a `gem` of its own, comes last."""


class BrokenPromise(Exception):
    """The environment does not keep a promise; the message says what happened."""


class NotApplicable(Exception):
    """The promise says nothing about this environment, or cannot be tried here; the message says why."""


class TooLong(BaseException):
    """The time is up. It is not an `Exception`, so that no environment handles it."""


@dataclass(frozen=True)
class Promise:
    """One promise, of an environment or of a package."""

    title: str
    """The promise as a sentence."""
    attempt: Callable[[Any], None]
    """The function that tries it with a subject; it raises `BrokenPromise` or `NotApplicable`."""
    advice: str
    """What to do if it is broken."""
    kinds: tuple[str, ...] = ("gem", "gymnasium")
    """The kinds of subjects that can keep it."""
    families: tuple[str, ...] = ()
    """The games whose rule it is; empty for what every environment promises."""
    basic: bool = False
    """Whether nothing else can be tried if it is broken."""
    once: bool = False
    """Whether it depends on the class more than on its arguments. Where all environments of a package are checked, it
    is tried with the first one of each class."""

    @property
    def key(self) -> str:
        """The short name, such as `repeats_a_seed`."""
        return self.attempt.__name__

    def applies_to(self, kind: str, family: str) -> bool:
        """Whether it is a promise of such an environment."""
        return kind in self.kinds and (not self.families or family in self.families)


@contextmanager
def time_limit(cpu_seconds: float) -> Iterator[None]:
    """Raise `TooLong` in the main thread if the block uses more processor time; code in C is interrupted late."""

    def expire(_number: int, _frame: FrameType | None) -> None:
        raise TooLong

    previous = signal.signal(signal.SIGPROF, expire)
    left, _ = signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, left)  # of the block around this one, which goes on
        signal.signal(signal.SIGPROF, previous)
