"""What a turn says, and what can be read from it."""

from __future__ import annotations

import re
from typing import Any

from ..subjects import Subject

REFUSAL = re.compile(r"\bnot\b|cannot|can't|invalid|against the rules|already|violat", re.IGNORECASE)


def box(action: object) -> str:
    """An action in the format that all games read."""
    return f"\\boxed{{{action}}}"


def suffix(info: Any) -> str:
    """The part of a turn that shows the board."""
    return str(info.get("suffix", ""))


def words(result: Any) -> str:
    """Everything that a turn, or the beginning, says."""
    info = result[-1]
    return "\n".join(str(part) for part in (info.get("prefix", ""), result[0], suffix(info)) if part)


def opening(env: Any, seed: int = 0) -> str:
    """What is said at the beginning."""
    return words(env.reset(seed=seed))


def is_refused(result: Any) -> bool:
    """Whether a turn says that its action is against the rules."""
    return bool(result[-1].get("error")) or result[1] < 0 or bool(REFUSAL.search(str(result[0])))


def is_documented(subject: Subject, pattern: str) -> bool:
    """Whether the documentation of the class says something."""
    return bool(re.search(pattern, subject.documentation, re.IGNORECASE))


def word_length(text: str) -> int:
    """The number of letters of the secret word; 5 if it is not said."""
    found = re.search(r"(\d+)-letter|(\d+) letters", text)
    return int(next(filter(None, found.groups()))) if found else 5
