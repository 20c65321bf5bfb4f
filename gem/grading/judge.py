"""Asks the processes that run math-verify and SymPy (see `judge_process`).

A process is started when an answer first needs it, which takes a second or two; after that an answer takes
milliseconds. No answer can block the others: those that are too large for SymPy are not asked about (see `bounds`), a
process limits its own computing time and is killed if that does not help, and there are several processes.
"""

from __future__ import annotations

import importlib.util
import os
from functools import lru_cache

from gem.errors import MissingDependency
from gem.grading.bounds import is_small
from gem.processes import HelperPool, HelperProcess, ProcessTimeout

PACKAGE = "math-verify"
TIMEOUT_SECONDS = 120.0
"""Wall-clock seconds after which a process that does not answer is killed; on a busy machine its start takes long."""

MAX_PROCESSES = 4

_judges = HelperPool(
    lambda: HelperProcess("gem.grading.judge_process", "The process that grades answers", TIMEOUT_SECONDS),
    size=min(max(2, os.cpu_count() or 1), MAX_PROCESSES),
)


@lru_cache(maxsize=4096)
def ask(answer: str, reference: str) -> bool | None:
    """Whether math-verify finds the answer equal to the reference; None if that takes too long, or would.

    Raises:
        MissingDependency: if math-verify is not installed.
        EnvironmentFailure: if the process ends again and again.
    """
    if importlib.util.find_spec("math_verify") is None:
        raise MissingDependency("Grading this answer", [PACKAGE])
    if not (is_small(answer) and is_small(reference)):
        return None
    try:
        equal: bool | None = _judges.call(answer=answer, reference=reference)["equal"]
    except ProcessTimeout:
        return None
    return equal


def start() -> None:
    """Start a process now, so that the first answer does not have to wait for it."""
    ask("$1$", "$x$")


def close() -> None:
    """End the processes; the next answer starts a new one."""
    _judges.close()
