"""Words with a clue each, in our own words, read from `clues.jsonl` when they are first asked for."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).parent / "clues.jsonl"


class Clue(NamedTuple):
    """An entry of the dictionary."""

    word: str
    """In lower case."""
    clue: str


@cache
def clues(hard: bool) -> tuple[Clue, ...]:
    """The entries with everyday words, or the harder ones."""
    with _FILE.open(encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines]
    return tuple(Clue(entry["word"], entry["clue"]) for entry in entries if entry["hard"] == hard)
