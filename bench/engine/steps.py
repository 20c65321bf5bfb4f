"""The time of a step: ours and GEM's take the same actions from the same hidden states, round after round."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gem
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
MEASURED_EARLIER = {
    "GuessTheNumber": 1.9,
    "Mastermind": 3.2,
    "Wordle": 3.1,
    "Hangman": 3.4,
    "TowerofHanoi": 2.7,
    "Minesweeper": 10.9,
    "Game2048": 17.9,
    "Sokoban": 17.6,
    "Crosswords": 14.6,
    "WordSearch": 20.7,
    "Sudoku": 6.4,
}
"""GEM at its newest commit of 2025, microseconds a step of the easy environments, for where it cannot be installed."""
TURNS = 3000
"""So many turns a round at most, and at most a tenth as many episodes: enough to forget what the process did before."""
FEW_EPISODES = {"game:Sokoban-v0-hard": 4, "game:Sokoban-v0-easy": 60, "game:WordSearch-v0-hard": 20}
"""GEM takes seconds to make one of these, or up to 15 MB."""
TEXT_ARENA_EPISODES = 20
"""A reference need not be as exact."""


@dataclass
class Row:
    """An environment and what was measured of it, in microseconds a turn for each round."""

    env_id: str
    target: float
    micros: dict[str, list[float]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    """Why a side was not measured."""
    own_actions: list[list[str]] = field(default_factory=list)
    """The actions, where GEM's hidden states are not there to draw them from."""

    def median(self, side: str) -> float | None:
        """The median over the rounds; None where the side was not measured."""
        return statistics.median(self.micros[side]) if self.micros.get(side) else None

    @property
    def ratio(self) -> float | None:
        """The median over the rounds of GEM's time by ours in the same round."""
        theirs = self.micros.get("gem_llm")
        return statistics.median(t / o for t, o in zip(theirs, self.micros["ours"], strict=True)) if theirs else None

    @property
    def earlier(self) -> float | None:
        """GEM's time as it was measured before, on another machine."""
        _, _, name = self.env_id.partition(":")
        return MEASURED_EARLIER.get(name.partition("-")[0]) if name.endswith("easy") else None


def measure(workers: Mapping[str, Worker], rounds: int, families: Sequence[str]) -> Iterator[Row]:
    """A row for the easy and the hard environment of each family."""
    for family in families:
        for difficulty in ("easy", "hard"):
            yield _measure_one(workers, f"game:{family}-v0-{difficulty}", family, rounds)


def _measure_one(workers: Mapping[str, Worker], env_id: str, family: str, rounds: int) -> Row:
    row = Row(env_id, TARGETS[family])
    sides, hidden = _prepare(workers, row)
    for number in range(-1, rounds):  # the first one warms up
        rng = random.Random(f"{env_id} {number}")
        drawn = row.own_actions or [actions.draw(family, one, rng) for one in hidden]
        for side in sides[number % len(sides) :] + sides[: number % len(sides)]:
            seconds, turns = workers[side].ask("steps", env_id=env_id, actions=drawn)
            if number >= 0:
                row.micros.setdefault(side, []).append(seconds / turns * 1e6)
    return row


def _prepare(workers: Mapping[str, Worker], row: Row) -> tuple[list[str], list[dict[str, Any]]]:
    """The sides that can play, with their episodes begun, and the hidden fields of these."""
    env_id = row.env_id
    turns = gem.spec(env_id).kwargs["max_turns"]
    seeds = list(range(FEW_EPISODES.get(env_id, min(TURNS // turns, TURNS // 10))))
    sides: list[str] = ["ours"]
    hidden: list[dict[str, Any]] = []
    try:
        hidden = workers["gem_llm"].ask("prepare", env_id=env_id, seeds=seeds) if "gem_llm" in workers else []
    except PeerError as error:
        row.errors["gem_llm"] = str(error)
    if hidden:
        sides.append("gem_llm")
        workers["ours"].ask("prepare", env_id=env_id, states=[to_state(env_id, one) for one in hidden])
    else:
        row.own_actions = workers["ours"].ask("prepare_own", env_id=env_id, seeds=seeds)
    if "text_arena" in workers:
        try:
            workers["text_arena"].ask("prepare", env_id=env_id, seeds=seeds[:TEXT_ARENA_EPISODES])
            sides.append("text_arena")
        except PeerError as error:
            row.errors["text_arena"] = str(error)
    return sides, hidden
