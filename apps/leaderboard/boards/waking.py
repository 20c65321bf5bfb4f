"""The message that wakes the worker which computes rankings."""

from __future__ import annotations

from apps.queue import enqueue

TASK = "verify.rankings"


def wake() -> None:
    """Have the rankings computed whose rows have changed."""
    enqueue(TASK)
