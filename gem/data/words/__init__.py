"""English words by length, read from the files of this folder when they are first needed (see its README.md)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

MIN_LENGTH, MAX_COMMON_LENGTH, MAX_LENGTH = 3, 12, 15

COMMON_HASH = "930f813e79769fb3"
"""The first 16 hexadecimal digits of the SHA-256 of `common.txt`: the `data_hash` of environments that use it."""
WORDS_HASH = "3beccdece4fae142"
"""The first 16 hexadecimal digits of the SHA-256 of `words.txt`."""

_FOLDER = Path(__file__).parent


@lru_cache(maxsize=32)
def common(length: int) -> tuple[str, ...]:
    """The everyday words of this length, in lower case and alphabetical order; an empty tuple if there are none."""
    return tuple(word for word in _read("common.txt") if len(word) == length)


@lru_cache(maxsize=32)
def all_words(min_length: int = MIN_LENGTH, max_length: int = MAX_LENGTH) -> tuple[str, ...]:
    """All words of `min_length` to `max_length` letters, in lower case and alphabetical order."""
    return tuple(word for word in _read("words.txt") if min_length <= len(word) <= max_length)


@lru_cache(maxsize=2)
def _read(name: str) -> list[str]:
    return (_FOLDER / name).read_text(encoding="ascii").split()
