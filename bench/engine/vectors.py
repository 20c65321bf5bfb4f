"""What a vector adds to the bare steps, and what process shards do with the cores."""

from __future__ import annotations

import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.engine import actions
from bench.engine.peers import Worker

ENV_ID = "game:GuessTheNumber-v0-hard"
HIGHEST = 50
NUM_ENVS = 64
TURNS = 60
CART_POLE = "CartPole-v1"
MANY_ENVS = 1024
SHARD_TURNS = {"game:Sokoban-v0-easy": 20, "game:Minesweeper-v0-hard": 20}
"""Environment to turns in a round; in Sokoban, every episode ends in it and a room is made."""
VECTORS: Mapping[tuple[str, str], str] = {
    ("ours", "sync"): "ours, one after the other (and `async_mode=True`: these games wait for nothing)",
    ("ours", "threads"): "ours, threads",
    ("gem_llm", "sync"): "GEM, SyncVectorEnv",
    ("gem_llm", "threads"): "GEM, AsyncVectorEnv (threads)",
    ("cart_pole", "sync"): "Gymnasium, SyncVectorEnv of CartPole",
    ("cart_pole", "processes"): "Gymnasium, AsyncVectorEnv of CartPole (processes)",
}
"""Side and kind to the words for it."""


@dataclass
class Row:
    """Microseconds of CPU time a turn: of the environment's own step, and what the vector adds."""

    side: str
    kind: str
    name: str
    bare: float
    added: float


def measure(workers: Mapping[str, Worker], rounds: int) -> list[Row]:
    """A row for each vector that can be made; the medians over the rounds."""
    bare: dict[str, list[float]] = {side: [] for side, _ in VECTORS if side in workers}
    added: dict[tuple[str, str], list[float]] = {key: [] for key in VECTORS if key[0] in workers}
    for number in range(-1, rounds):  # the first one warms up
        for side in sorted(bare, reverse=number % 2 == 1):
            env_id, turns = _turns(side, number)
            alone = _micros(workers[side].ask("alone", env_id=env_id, turns=turns))
            for key in (key for key in added if key[0] == side):
                together = _micros(workers[side].ask("vector", env_id=env_id, turns=turns, kind=key[1]))
                if number >= 0:
                    added[key].append(together - alone)
            if number >= 0:
                bare[side].append(alone)
    return [
        Row(*key, VECTORS[key], statistics.median(bare[key[0]]), statistics.median(values))
        for key, values in added.items()
    ]


@dataclass
class ShardRow:
    """Turns a second by the clock, in one process and in one for each core, and how many cores these kept busy.

    Each is of the quickest round: whatever else the machine does slows the others.
    """

    env_id: str
    alone: float
    shards: float
    cores: float
    most_cores: float
    """How many they could keep busy at most: CPU time in all, by that of the vector and its busiest shard."""


def measure_shards(ours: Worker, rounds: int) -> list[ShardRow]:
    """What process shards bring; the clock counts here, so a busy machine shows."""
    rows = []
    for env_id, turns in SHARD_TURNS.items():
        alone, shards = [], []
        for _ in range(rounds):
            taken = {
                kind: ours.ask("wall", env_id=env_id, num_envs=MANY_ENVS, turns=turns, kind=kind)
                for kind in ("sync", "processes")
            }
            alone.append(MANY_ENVS * turns / taken["sync"][0])
            clock, own, each = taken["processes"]
            busy = own + sum(each)
            shards.append((MANY_ENVS * turns / clock, busy / clock, busy / (own + max(each))))
        rows.append(ShardRow(env_id, max(alone), *max(shards)))
    return rows


def _turns(side: str, number: int) -> tuple[str, Sequence[Sequence[Any]]]:
    rng = random.Random(number)
    if side == "cart_pole":
        return CART_POLE, [[rng.randrange(2) for _ in range(NUM_ENVS)] for _ in range(TURNS)]
    return ENV_ID, actions.draw_numbers(TURNS, NUM_ENVS, HIGHEST, rng)


def _micros(spent: tuple[float, int]) -> float:
    seconds, turns = spent
    return seconds / turns * 1e6
