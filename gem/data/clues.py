"""A dictionary of words with clues of our own, read from `clues.jsonl` when it is first needed."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).parent / "clues.jsonl"


class Clue(NamedTuple):
    """An entry of the dictionary."""

    word: str
    """The word in lower case."""
    clue: str


@cache
def clues(hard: bool) -> tuple[Clue, ...]:
    """All entries with everyday words, or with `hard` those with harder words."""
    with _FILE.open(encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines]
    return tuple(Clue(entry["word"], entry["clue"]) for entry in entries if entry["hard"] == hard)
