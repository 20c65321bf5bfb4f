"""Processor time compared with that of a fixed piece of work, so that a test holds on any machine, busy or slow."""

import time
from collections.abc import Callable

UNITS = 1_000_000


def times_the_yardstick(work: Callable[[], object]) -> float:
    """What a piece of work takes, in units of what this machine needs to look at a million characters one by one.

    That is about 0.05 s of processor time. It is measured before the work and after it, and the longer one counts.
    """
    before = _spent(_look_at_a_million_characters)
    spent = _spent(work)
    return spent / max(before, _spent(_look_at_a_million_characters))


def _look_at_a_million_characters() -> int:
    return sum(map(ord, "x" * UNITS))


def _spent(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began
