"""The process that compares formulas with math-verify: a request on each line of its input, an answer on each line.

An answer that needs too much computing is given up: first by an exception at the next Python instruction, and where
that does not come (a huge power is one instruction) the process ends. Memory is limited as well.
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

SOFT_SECONDS = 2.0
"""Computing time of an answer, of which ordinary ones take a hundredth; GEM allows a second by the clock."""
HARD_SECONDS = 4.0
MEMORY = 3 * 2**30
"""Bytes of address space."""


class TooLong(BaseException):
    """The time is up. No `Exception`: SymPy catches those."""


def serve() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    logging.disable()
    _limit_memory()
    library: Any = import_module("math_verify")
    if hasattr(signal, "SIGVTALRM"):
        signal.signal(signal.SIGVTALRM, _raise)
    _warm_up(library)
    for line in sys.stdin:
        request = json.loads(line)
        answers.write(json.dumps({"equal": _equal(library, request["answer"], request["reference"])}) + "\n")
        answers.flush()


def _warm_up(library: Any) -> None:
    """Compare what needs most of the parser and of SymPy, which are slow the first time; it counts for no answer."""
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
        _limit(SOFT_SECONDS, HARD_SECONDS)
        return compare(library, answer, reference)
    except (TooLong, MemoryError):
        return None
    except Exception:  # noqa: BLE001 (the parser and SymPy raise anything on odd input, which equals nothing)
        return False
    finally:
        _limit(0, 0)


def compare(library: Any, answer: str, reference: str) -> bool:
    """Whether math-verify finds them equal, read as GEM reads them: one formula in LaTeX, no search in the text.

    Its own time limits are off, because they work in the main thread alone and are seconds by the clock.
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

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _raise(_signal: int, _frame: FrameType | None) -> None:
    raise TooLong
