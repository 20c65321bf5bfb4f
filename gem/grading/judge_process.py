"""The process that compares formulas with math-verify. It reads a request from each line and writes an answer.

A comparison that needs too much computing time is aborted by an exception at the next Python instruction. If that is
never reached, because a huge power is a single instruction, the process is killed. Memory is limited as well.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from importlib import import_module
from types import FrameType
from typing import Any

SOFT_LIMIT_SECONDS = 0.9
"""CPU seconds after which a comparison is aborted. Usual ones take a hundredth; GEM allows one wall-clock second."""
HARD_LIMIT_SECONDS = 1.0
"""CPU seconds after which the process is killed."""
MAX_MEMORY_BYTES = 3 * 2**30
"""The largest address space of the process."""


class TimeLimitExceeded(BaseException):
    """A comparison takes too long. It is not an `Exception`, because SymPy catches those."""


def serve() -> None:
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    logging.disable()
    _limit_memory()
    library: Any = import_module("math_verify")
    if hasattr(signal, "SIGVTALRM"):
        signal.signal(signal.SIGVTALRM, _raise_time_limit)
    _warm_up(library)
    for line in sys.stdin:
        request = json.loads(line)
        answers.write(json.dumps({"equal": _equal(library, request["answer"], request["reference"])}) + "\n")
        answers.flush()


def _warm_up(library: Any) -> None:
    """Use most of the parser and of SymPy once, since they are slow the first time and no answer should pay for it."""
    for text in (
        "$\\frac{x}{2}+\\sqrt{3}$",
        "$\\{1,2\\}$",
        "$[1,2)$",
        "$x>2$",
        "$\\begin{pmatrix}1\\\\2\\end{pmatrix}$",
        "$5_{7}$",
    ):
        compare(library, text, "$\\frac{2x}{4}+\\sqrt{3}$")


def _equal(library: Any, answer: str, reference: str) -> bool | None:
    try:
        _limit(SOFT_LIMIT_SECONDS, HARD_LIMIT_SECONDS)
        return compare(library, answer, reference)
    except (TimeLimitExceeded, MemoryError):
        return None
    except Exception:  # noqa: BLE001 (the parser and SymPy raise anything on odd input, which equals nothing)
        return False
    finally:
        _limit(0, 0)


def compare(library: Any, answer: str, reference: str) -> bool:
    """Whether math-verify finds both equal. As in GEM, each is parsed as a single LaTeX formula.

    The library's own time limits are off, because they work only in the main thread and count wall-clock time.
    """
    targets = (library.LatexExtractionConfig(boxed_match_priority=0), library.ExprExtractionConfig())
    parsed = [
        library.parse(
            text,
            extraction_config=targets,
            fallback_mode="no_fallback",
            extraction_mode="first_match",
            parsing_timeout=None,
        )
        for text in (reference, answer)
    ]
    return bool(library.verify(*parsed, timeout_seconds=None))


def _limit(soft: float, hard: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_VIRTUAL, soft)
        signal.setitimer(signal.ITIMER_PROF, hard)


def _limit_memory() -> None:
    if sys.platform == "linux":
        import resource  # noqa: PLC0415 (absent elsewhere)

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))


def _raise_time_limit(_signal: int, _frame: FrameType | None) -> None:
    raise TimeLimitExceeded
