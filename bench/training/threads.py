"""What a second thread of torch is worth to a small policy: `python -m bench.training.threads`.

A policy that comes with the engine plays with one and with two threads, in turns, on a machine with nothing else to do
and beside one process for each core that computes all the time. Printed are the seconds and the CPU seconds of both,
the median of `ROUNDS`. Exits with 1 if one thread, which `PolicyAgent` uses, is slower than two on the busy machine.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch

from gem.cli.output.tables import table
from gem.rollout import EpisodeRequest, rollout
from gem.training.policy import policy_agent
from gem.training.policy.policy_agent import PolicyAgent

POLICIES = {"nano-base": "game:GuessTheNumber-v0-easy", "nano-large": "game:Mastermind-v0-easy"}
EPISODES = 64
ROUNDS = 3
THREADS = (1, 2)


class Spent(NamedTuple):
    """What a play took, in seconds."""

    wall: float
    cpu: float


def main() -> int:
    """Measure, print, and return the exit code."""
    rows = []
    is_slower = False
    for place, load in (("idle", 0), ("busy", os.cpu_count() or 1)):
        with computing(load):
            for policy, env_id in POLICIES.items():
                one, two = measure(policy, env_id)
                is_slower |= place == "busy" and one.wall > two.wall
                rows.append([policy, place, *(f"{value:.2f}" for value in (one.wall, two.wall, one.cpu, two.cpu))])
    table(["policy", "machine", "1 thread, s", "2 threads, s", "1 thread, CPU s", "2 threads, CPU s"], rows)
    return int(is_slower)


def measure(policy: str, env_id: str) -> list[Spent]:
    """The median of what one and two threads take, which take turns."""
    policy_agent.SMALL_POLICY = 0  # the number of threads is chosen here
    found: dict[int, list[Spent]] = {number: [] for number in THREADS}
    for _ in range(ROUNDS):
        for number in THREADS:
            torch.set_num_threads(number)
            agent = PolicyAgent(policy, max_tokens=12)
            wall, cpu = time.perf_counter(), time.process_time()
            requests = [EpisodeRequest(place, env_id, seed=place) for place in range(EPISODES)]
            assert len(list(rollout(agent, requests, num_envs=EPISODES))) == EPISODES
            found[number].append(Spent(time.perf_counter() - wall, time.process_time() - cpu))
    return [median(found[number]) for number in THREADS]


def median(spent: Sequence[Spent]) -> Spent:
    """Of each column."""
    return Spent(*(statistics.median(column) for column in zip(*spent, strict=True)))


@contextmanager
def computing(processes: int) -> Iterator[None]:
    """Let so many processes compute during the block."""
    context = multiprocessing.get_context("spawn")
    started = [context.Process(target=_compute, daemon=True) for _ in range(processes)]
    for process in started:
        process.start()
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.join()


def _compute() -> None:
    while True:
        sum(range(100_000))


if __name__ == "__main__":
    sys.exit(main())
