"""CPU time of one step of each game, beside GEM's on a machine of the same kind.

python -m bench.engine_steps
"""

from __future__ import annotations

import time

import gem

TURNS = 20_000
REPEATS = 5
GEM_MICROSECONDS = {"GuessTheNumber": 1.9, "Minesweeper": 10.9, "Sokoban": 17.6}
"""Measured in GEM at its newest commit (axon-rl/gem)."""


def main() -> None:
    """Print one line for each game, the best of a few repeats."""
    for spec in gem.registry.specs():
        if spec.difficulty != "hard":
            continue
        microseconds = min(step_time(spec.id) for _ in range(REPEATS))
        reference = GEM_MICROSECONDS.get(spec.family)
        beside = f"GEM {reference:5.1f} µs, {reference / microseconds:.1f} times faster" if reference else ""
        print(f"{spec.id:32} {microseconds:5.2f} µs a step   {beside}")


def step_time(env_id: str) -> float:
    """Microseconds of CPU time of a step with a random action; resets and the choice of actions do not count."""
    env = gem.make(env_id)
    spent, turns, seed = 0.0, 0, 0
    while turns < TURNS:
        env.reset(seed=seed)
        seed += 1
        actions = [env.sample_random_action() for _ in range(env.max_turns)]
        taken, over = 0, False
        before = time.process_time()
        while not over:
            _, _, terminated, truncated, _ = env.step(actions[taken])
            taken += 1
            over = terminated or truncated
        spent += time.process_time() - before
        turns += taken
    return spent / turns * 1e6


if __name__ == "__main__":
    main()
