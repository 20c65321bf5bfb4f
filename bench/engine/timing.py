"""What is timed on every side, by the same lines of code. Nothing here imports an environment library."""

from __future__ import annotations

import os
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Spent = tuple[float, int]
"""Seconds of CPU time, and the turns taken in them."""


def play(episodes: Sequence[tuple[Callable[[str], Any], Sequence[str]]]) -> Spent:
    """Take each episode's actions until it ends, by its `step` method of five values."""
    turns = 0
    before = time.process_time()
    for step, actions in episodes:
        for action in actions:
            turns += 1
            _, _, terminated, truncated, _ = step(action)
            if terminated or truncated:
                break
    return time.process_time() - before, turns


def step_alone(envs: Sequence[Any], turns: Sequence[Sequence[Any]]) -> Spent:
    """Step the environments one after the other without a vector; an ended episode is followed by `reset()`."""
    pairs = [(env.step, env.reset) for env in envs]
    before = time.process_time()
    for actions in turns:
        for (step, reset), action in zip(pairs, actions, strict=True):
            _, _, terminated, truncated, _ = step(action)
            if terminated or truncated:
                reset()
    return time.process_time() - before, len(envs) * len(turns)


def step_vector(vector: Any, turns: Sequence[Any]) -> Spent:
    """Step a vector, which resets what has ended itself."""
    step = vector.step
    before = time.process_time()
    for actions in turns:
        step(actions)
    return time.process_time() - before, vector.num_envs * len(turns)


def bytes_each(make: Callable[[], Any], count: int) -> float:
    """Bytes that Python allocates for an environment in its first episode, over `count` of them.

    The first two are not counted: what all of them share is theirs.
    """
    first = [make(), make()]
    tracemalloc.start()
    envs = [make() for _ in range(count)]
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del first, envs
    return taken / count


def children_seconds() -> list[float]:
    """CPU time so far of each of this process's living children (Linux)."""
    pids = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return [int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9 for pid in pids]
