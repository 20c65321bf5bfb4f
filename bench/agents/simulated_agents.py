"""Simulated agents, whose true difference is known, for `bench.comparing`."""

from __future__ import annotations

import random
from collections.abc import Sequence

from gem.evaluation.comparison.pairs import SeedPair
from gem.evaluation.comparison.runs import Run, ScoredEpisode


def solved_pairs(draw: random.Random, seeds: int, first: float, second: float, alike: float = 0.0) -> list[SeedPair]:
    """Seeds with one try each; the share `alike` of them is decided by the seed, the same for both agents."""
    pairs = []
    for seed in range(seeds):
        if draw.random() < alike:
            same = float(draw.random() < (first + second) / 2)
            pairs.append(SeedPair("game", seed, same, same))
        else:
            pairs.append(SeedPair("game", seed, float(draw.random() < first), float(draw.random() < second)))
    return pairs


def clustered_run(draw: random.Random, chances: Sequence[float], tries: int, seats: int) -> Run:
    """An agent that solves each seed with its own chance, in every seat and try."""
    return Run(
        "agent",
        [
            ScoredEpisode("game", seed, seat, repeat, 0.0, draw.random() < chance)
            for seed, chance in enumerate(chances)
            for seat in range(seats)
            for repeat in range(tries)
        ],
    )


def beta_chances(draw: random.Random, seeds: int, mean: float, spread: float) -> list[float]:
    """The chances of seeds of different difficulty; `spread` 0 means none, 1 that each is always or never solved."""
    total = (1 - spread) / spread
    return [draw.betavariate(mean * total, (1 - mean) * total) for _ in range(seeds)]


def skewed(draw: random.Random, scale: float = 1.0) -> float:
    """A return that is mostly small and sometimes large."""
    return scale * draw.lognormvariate(0, 1)
