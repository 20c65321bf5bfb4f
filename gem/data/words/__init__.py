"""English words by length, read from the files beside when they are first asked for (see README.md there)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

SHORTEST, LONGEST_COMMON, LONGEST = 3, 12, 15

COMMON_HASH = "930f813e79769fb3"
"""The first 16 digits of the SHA-256 of `common.txt`: the `data_hash` of environments that draw from it."""
WORDS_HASH = "3beccdece4fae142"
"""The same of `words.txt`."""

_HERE = Path(__file__).parent


@lru_cache(maxsize=32)
def common(length: int) -> tuple[str, ...]:
    """The words of that length that everybody knows, in lower case and alphabetical order; () if there are none."""
    return tuple(word for word in _read("common.txt") if len(word) == length)


@lru_cache(maxsize=32)
def all_words(shortest: int = SHORTEST, longest: int = LONGEST) -> tuple[str, ...]:
    """All words of `shortest` to `longest` letters, in lower case and alphabetical order."""
    return tuple(word for word in _read("words.txt") if shortest <= len(word) <= longest)


@lru_cache(maxsize=2)
def _read(name: str) -> list[str]:
    return (_HERE / name).read_text(encoding="ascii").split()
