"""Asks the process that runs math-verify and SymPy (see `judge_process`).

The process is started when an answer first needs it, which takes a second or two; after that an answer takes
milliseconds. It limits its own computing time, and is killed if that does not help, so no answer can block the caller.
"""

from __future__ import annotations

import importlib.util
from functools import lru_cache

from gem.errors import MissingDependency
from gem.processes import HelperProcess, ProcessTimeout

PACKAGE = "math-verify"
TIMEOUT_SECONDS = 120.0
"""Wall-clock seconds after which a process that does not answer is killed; on a busy machine its start takes long."""

_judge = HelperProcess("gem.grading.judge_process", "The process that grades answers", TIMEOUT_SECONDS)


@lru_cache(maxsize=4096)
def ask(answer: str, reference: str) -> bool | None:
    """Whether math-verify finds the answer equal to the reference; None if that takes too long.

    Raises:
        MissingDependency: if math-verify is not installed.
        EnvironmentFailure: if the process ends again and again.
    """
    if importlib.util.find_spec("math_verify") is None:
        raise MissingDependency("Grading this answer", [PACKAGE])
    try:
        equal: bool | None = _judge.call(answer=answer, reference=reference)["equal"]
    except ProcessTimeout:
        return None
    return equal


def start() -> None:
    """Start the process now, so that the first answer does not have to wait for it."""
    ask("$1$", "$x$")


def close() -> None:
    """End the process; the next answer starts a new one."""
    _judge.close()
