"""`gemweb bench`: how fast an environment is here; `gemweb bench algorithms`: what each algorithm reaches."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import gem
from gem.cli import algorithms
from gem.cli.output.tables import count
from gem.core import Env, EnvWrapper, Info
from gem.errors import EnvironmentFailure, UsageError

if TYPE_CHECKING:
    from gem.vector.base import VectorEnv
    from gem.vector.make import Backend

BACKENDS: Mapping[Backend, str] = {
    "sync": "one after the other in this process",
    "threads": "at the same time in threads of this process",
    "processes": "in one process for each core",
}
RESETS = 20
"""Resets that are timed for the time of one."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("env_id", metavar="ID", help="an environment, or the word algorithms to compare those")
    parser.add_argument("--envs", type=int, default=16, metavar="N", help="environments stepped together (16)")
    parser.add_argument("--backend", choices=list(BACKENDS), default="sync", help="where they are stepped (sync)")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long to measure (3)")
    parser.add_argument("--seed", type=int, default=0, help="of the first environment (0)")
    algorithms.arguments(parser.add_argument_group("with the word algorithms"))


class Measured(NamedTuple):
    """What came of stepping a vector for a while."""

    steps: int
    episodes: int
    seconds: float
    batch: float
    """Median seconds of one step of the vector."""


def run(env_id: str, envs: int, backend: Backend, seconds: float, seed: int, **compared: Any) -> int:
    """Measure, and say what was measured."""
    if env_id == algorithms.WORD:
        return algorithms.run(**compared)
    if envs < 1 or not 0 < seconds <= 3600:
        raise UsageError("--envs must be at least 1, and --seconds above 0 and at most 3600.")
    first, resets = _time_resets(env_id, seed)
    print(f"{env_id} with {count(envs, 'environment')}, {BACKENDS[backend]}.")
    print(f"First reset: {_duration(first)}, with whatever has to be loaded once.")
    print(
        f"Reset: {_duration(statistics.median(resets))} in the middle, {_duration(max(resets))} at most, of {RESETS}."
    )
    measured = _measure(env_id, envs, backend, seconds, seed)
    per_second = measured.steps / measured.seconds
    steps, episodes = count(measured.steps, "step"), count(measured.episodes, "episode")
    print(f"Steps: {per_second:,.0f} per second, with random actions.")
    print(f"These were {steps} in {measured.seconds:.1f} s; {episodes} ended and began anew.")
    print(f"One step of all {envs}: {_duration(measured.batch)} in the middle.")
    print(
        "A step is one action of one environment. Choosing the actions is part of the time; a model's thinking is not."
    )
    return 0


def _time_resets(env_id: str, seed: int) -> tuple[float, list[float]]:
    env = gem.make(env_id)
    try:
        first = _timed(partial(env.reset, seed=seed))
        return first, [_timed(partial(env.reset, seed=seed + i)) for i in range(1, RESETS + 1)]
    except UsageError:
        raise
    except Exception as error:  # an environment may raise anything; who measures gets a sentence
        raise EnvironmentFailure(f"{env_id} could not begin: {type(error).__name__}: {error}") from error
    finally:
        env.close()


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


class _Sampler(EnvWrapper):
    """Puts a random action for the next turn into the info, so that processes draw their own."""

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        observation, info = self.env.reset(seed=seed)
        return observation, {**info, "sample": self.env.sample_random_action()}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if not (terminated or truncated):
            info = {**info, "sample": self.env.sample_random_action()}
        return observation, reward, terminated, truncated, info


def _wrap(env: Env) -> Env:
    return _Sampler(env)


def _measure(env_id: str, envs: int, backend: Backend, seconds: float, seed: int) -> Measured:
    with gem.make_vec([env_id] * envs, [_wrap], async_mode=backend, seed=seed) as vector:
        _, infos = vector.reset()
        infos = _step(vector, infos, env_id)[0]  # the first one warms up
        batches: list[float] = []
        episodes = 0
        start = time.perf_counter()
        while not batches or time.perf_counter() - start < seconds:
            before = time.perf_counter()
            infos, ended = _step(vector, infos, env_id)
            batches.append(time.perf_counter() - before)
            episodes += ended
        spent = time.perf_counter() - start
    return Measured(len(batches) * envs, episodes, spent, statistics.median(batches))


def _step(vector: VectorEnv, infos: list[Info], env_id: str) -> tuple[list[Info], int]:
    for info in infos:
        if "failure" in info:
            raise EnvironmentFailure(f"{env_id} broke while it was measured: {info['failure']}")
    _, _, terminated, truncated, infos = vector.step([info["sample"] for info in infos])
    return infos, sum(one or other for one, other in zip(terminated, truncated, strict=True))


def _duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1000:.2f} ms" if seconds >= 0.001 else f"{seconds * 1_000_000:.0f} µs"
