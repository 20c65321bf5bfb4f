"""How long a reset of each game takes, beside GEM, and how many of 10,000 seeds begin differently.

    python -m bench.resets            # all games
    python -m bench.resets Sokoban    # only ids that contain the word

Times are CPU time; GEM's were measured in GEM at its newest commit (axon-rl/gem), 500 seeds each, 12 of the slow ones.
A start is the whole state of the episode: what is hidden in it too, and not the seed.
"""

from __future__ import annotations

import sys
import time
from typing import NamedTuple

import gem

STARTS = 10_000
TARGETS_MS = {"game:Sokoban-v0-hard": 50, "game:Sudoku-v0-hard": 50, "game:WordSearch-v0-hard": 10}
"""What the 99th percentile has to stay below."""
DISTINCT = 0.999
GEM = {
    "game:Crosswords-v0-easy": "0.05 / 0.2",
    "game:Crosswords-v0-hard": "0.07 / 0.1",
    "game:FifteenPuzzle-v0-hard": "0.13 / 0.2",
    "game:Sokoban-v0-easy": "5.7 / 24",
    "game:Sokoban-v0-hard": "4,123 / 14,949",
    "game:Sokoban-v0-random": "4,405 / 33,348",
    "game:Sudoku-v0-easy": "0.57 / 4.4",
    "game:Sudoku-v0-hard": "43 / 812",
    "game:Sudoku-v0-random": "38 / 727",
    "game:WordSearch-v0-easy": "0.17 / 0.3",
    "game:WordSearch-v0-hard": "51 / 138",
    "game:WordSearch-v0-random": "48 / 295",
}
"""Mean and maximum in milliseconds."""


class Resets(NamedTuple):
    """What many resets of one environment took, in milliseconds, and the share of starts that are distinct."""

    p50: float
    p99: float
    longest: float
    distinct: float


def main(word: str = "", starts: int = STARTS) -> None:
    """Print one line for each id of a game."""
    print(f"{'id':34} {'p50':>7} {'p99':>7} {'max':>7} ms   {'target':>6}   {'GEM mean / max':>16}   distinct starts")
    for spec in gem.registry.specs():
        if spec.category != "game" or word not in spec.id:
            continue
        found = measure(spec.id, starts)
        target = TARGETS_MS.get(spec.id)
        missed = " MISSED" if target is not None and found.p99 >= target else ""
        print(
            f"{spec.id:34} {found.p50:7.2f} {found.p99:7.2f} {found.longest:7.2f}      "
            f"{target or '':>6}   {GEM.get(spec.id, ''):>16}   {found.distinct:7.2%}"
            f"{'' if found.distinct >= DISTINCT else ' (fewer)'}{missed}",
            flush=True,
        )


def measure(env_id: str, starts: int) -> Resets:
    """Reset an environment with the seeds 0 to `starts` - 1."""
    env = gem.make(env_id)
    times, seen = [], set()
    for seed in range(starts):
        before = time.process_time()
        env.reset(seed=seed)
        times.append((time.process_time() - before) * 1000)
        seen.add(start(env))
    times.sort()
    return Resets(times[starts // 2], times[starts * 99 // 100], times[-1], len(seen) / starts)


def start(env: gem.Env) -> str:
    """What the episode is drawn to be, what is hidden included, without its seed and generator."""
    return repr({name: value for name, value in env.get_state().items() if name not in {"seed", "rng"}})


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else "", int(sys.argv[2]) if sys.argv[2:] else STARTS)
