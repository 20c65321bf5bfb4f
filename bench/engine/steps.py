"""The time of a step: ours and GEM's take the same actions from the same hidden states, round after round."""

from __future__ import annotations

import random
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.engine import actions
from bench.engine.peers import PeerError, Worker
from tests.engine.parity.adapter import to_state

TARGETS = {
    "GuessTheNumber": 1.4,
    "Mastermind": 1.4,
    "Wordle": 1.4,
    "Hangman": 1.4,
    "TowerofHanoi": 1.4,
    "FifteenPuzzle": 1.4,
    "Minesweeper": 3.0,
    "Game2048": 3.0,
    "Sokoban": 3.0,
    "Crosswords": 3.0,
    "WordSearch": 3.0,
    "Sudoku": 2.0,
}
"""How many times faster than GEM a step is to be."""
EPISODES = 60
FEW_EPISODES = {"game:Sokoban-v0-hard": 4, "game:WordSearch-v0-hard": 20}
"""GEM takes seconds to make one of these, or up to 15 MB."""


@dataclass
class Row:
    """An environment and what was measured of it, in microseconds a turn for each round."""

    env_id: str
    target: float
    micros: dict[str, list[float]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def median(self, side: str) -> float | None:
        """The median over the rounds; None where the side was not measured."""
        return statistics.median(self.micros[side]) if self.micros.get(side) else None

    @property
    def ratio(self) -> float | None:
        """The median over the rounds of GEM's time by ours in the same round."""
        theirs, own = self.micros.get("gem_llm"), self.micros.get("ours")
        return statistics.median(t / o for t, o in zip(theirs, own, strict=True)) if theirs and own else None


def measure(workers: Mapping[str, Worker], rounds: int, families: list[str] | None = None) -> list[Row]:
    """A row for the easy and the hard environment of each game."""
    rows = []
    for family in families or list(TARGETS):
        for difficulty in ("easy", "hard"):
            rows.append(_measure_one(workers, f"game:{family}-v0-{difficulty}", family, rounds))
    return rows


def _measure_one(workers: Mapping[str, Worker], env_id: str, family: str, rounds: int) -> Row:
    row = Row(env_id, TARGETS[family])
    seeds = list(range(FEW_EPISODES.get(env_id, EPISODES)))
    hidden = workers["gem_llm"].ask("prepare", env_id=env_id, seeds=seeds)
    workers["ours"].ask("prepare", env_id=env_id, states=[to_state(env_id, one) for one in hidden])
    sides = ["ours", "gem_llm"]
    if "text_arena" in workers:
        try:
            workers["text_arena"].ask("prepare", env_id=env_id, seeds=seeds)
            sides.append("text_arena")
        except PeerError as error:
            row.errors["text_arena"] = str(error)
    for number in range(-1, rounds):  # the first one warms up
        rng = random.Random(f"{env_id} {number}")
        drawn = [actions.draw(family, one, rng) for one in hidden]
        for side in sides[number % len(sides) :] + sides[: number % len(sides)]:
            seconds, turns = workers[side].ask("steps", env_id=env_id, actions=drawn)
            if number >= 0:
                row.micros.setdefault(side, []).append(seconds / turns * 1e6)
    return row
