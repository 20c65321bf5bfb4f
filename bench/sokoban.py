"""How long it takes to make a Sokoban room, beside GEM, and how many starts are distinct.

    python -m bench.sokoban

GEM's figures were measured in GEM at its newest commit (axon-rl/gem), 500 seeds for easy, 12 for the others.
"""

from __future__ import annotations

import sys
import time

import gem

SEEDS = 500
STARTS = 10_000
GEM = {
    "game:Sokoban-v0-easy": "mean 5.7 ms, max 24 ms",
    "game:Sokoban-v0-hard": "mean 4,123 ms, max 14,949 ms",
    "game:Sokoban-v0-random": "mean 4,405 ms, max 33,348 ms",
}


def main(starts: int = STARTS) -> None:
    """Print one line for each Sokoban environment; times are CPU time."""
    for spec in gem.registry.specs():
        if spec.family != "Sokoban":
            continue
        env = gem.make(spec.id)
        times = sorted(reset_time(env, seed) for seed in range(SEEDS))
        rooms = {room(env, seed) for seed in range(starts)}
        print(
            f"{spec.id:24} reset p50 {times[SEEDS // 2]:.1f} ms, p99 {times[SEEDS * 99 // 100]:.1f} ms, "
            f"max {times[-1]:.1f} ms (GEM: {GEM.get(spec.id, 'not registered')}); "
            f"{len(rooms) / starts:.2%} of {starts:,} starts distinct"
        )


def reset_time(env: gem.Env, seed: int) -> float:
    """Milliseconds of CPU time that one reset takes."""
    before = time.process_time()
    env.reset(seed=seed)
    return (time.process_time() - before) * 1000


def room(env: gem.Env, seed: int) -> str:
    """The room of a seed."""
    _, info = env.reset(seed=seed)
    return str(info["suffix"])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
