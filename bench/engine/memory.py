"""What an environment takes in memory, beside what all of a kind share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from bench.engine.peers import PeerError, Worker

COUNT = 1000
PEERS_COUNT = 6
"""A peer's environments are alike, and some take megabytes."""
MOST = 64
"""KB that one of ours may take."""
FAMILIES = ("GuessTheNumber", "Wordle", "Minesweeper", "Crosswords", "WordSearch", "Sudoku", "Sokoban")


@dataclass
class Row:
    """Kilobytes of an environment, for each side that could be measured."""

    env_id: str
    kilobytes: dict[str, float] = field(default_factory=dict)


def measure(workers: Mapping[str, Worker]) -> Iterator[Row]:
    """A row for the hard environment of each family (the easy one of Sokoban, which GEM makes in time)."""
    for family in FAMILIES:
        row = Row(f"game:{family}-v0-{'easy' if family == 'Sokoban' else 'hard'}")
        for side in ("ours", "gem_llm", "text_arena"):
            if side not in workers:
                continue
            try:
                count = COUNT if side == "ours" else PEERS_COUNT
                row.kilobytes[side] = workers[side].ask("memory", env_id=row.env_id, count=count) / 1000
            except PeerError:
                if side == "ours":
                    raise
        yield row
