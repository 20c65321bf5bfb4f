"""The door to the process that holds math-verify and SymPy (see `judge_process`).

It is started when an answer first needs it, which takes a second or two; then one takes milliseconds. It limits its
own computing, and is ended where that does not help, so that no answer can keep anybody waiting.
"""

from __future__ import annotations

import importlib.util
from functools import lru_cache

from gem.errors import MissingDependency
from gem.processes import HelperProcess, ProcessTimeout

PACKAGE = "math-verify"
PATIENCE = 120.0
"""Seconds by the clock, for a process that does nothing at all: on a busy machine its start alone may take many."""

_judge = HelperProcess("gem.grading.judge_process", "The process that grades answers", PATIENCE)


@lru_cache(maxsize=4096)
def ask(answer: str, reference: str) -> bool | None:
    """Whether math-verify finds the answer equal to the reference; None if it takes too long.

    Raises:
        MissingDependency: if it is not installed.
        EnvironmentFailure: if its process ends again and again.
    """
    if importlib.util.find_spec("math_verify") is None:
        raise MissingDependency("Grading this answer", [PACKAGE])
    try:
        equal: bool | None = _judge.call(answer=answer, reference=reference)["equal"]
    except ProcessTimeout:
        return None
    return equal


def start() -> None:
    """Start the process now, so that the first answer need not wait."""
    ask("$1$", "$x$")


def close() -> None:
    """End the process; the next answer starts another one."""
    _judge.close()
