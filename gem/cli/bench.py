"""`gemweb bench`: measure the speed of an environment."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import gem
from gem.core import Env, EnvWrapper, Info
from gem.errors import EnvironmentFailure, UsageError
from gem.validation.messages import count

if TYPE_CHECKING:
    from gem.vector.base import VectorEnv
    from gem.vector.make import Backend

BACKENDS: Mapping[Backend, str] = {
    "sync": "one after the other in this process",
    "threads": "at the same time in threads of this process",
    "processes": "in one process for each core",
}
RESETS = 20
"""The number of resets that are timed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("env_id", metavar="ID", help="the environment")
    parser.add_argument("--envs", type=int, default=16, metavar="N", help="environments stepped together (16)")
    parser.add_argument("--backend", choices=list(BACKENDS), default="sync", help="where they are stepped (sync)")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long to measure (3)")
    parser.add_argument("--seed", type=int, default=0, help="of the first environment (0)")


class Measurement(NamedTuple):
    """The result of stepping a vector for some time."""

    steps: int
    episodes: int
    seconds: float
    median_step_seconds: float
    """The median time of a step of the vector."""


def run(env_id: str, envs: int, backend: Backend, seconds: float, seed: int) -> int:
    """Measure the environment and print the results."""
    if envs < 1 or not 0 < seconds <= 3600:
        raise UsageError("--envs must be at least 1, and --seconds above 0 and at most 3600.")
    first_reset, resets = _time_resets(env_id, seed)
    print(f"{env_id} with {count(envs, 'environment')}, {BACKENDS[backend]}.")
    print(f"First reset: {_duration(first_reset)}, including everything that is loaded once.")
    median_reset, longest_reset = _duration(statistics.median(resets)), _duration(max(resets))
    print(f"Later resets: median {median_reset}, maximum {longest_reset}, of {RESETS} resets.")
    measurement = _measure(env_id, envs, backend, seconds, seed)
    steps_per_second = measurement.steps / measurement.seconds
    steps, episodes = count(measurement.steps, "step"), count(measurement.episodes, "episode")
    print(f"Steps: {steps_per_second:,.0f} per second, with random actions.")
    print(f"Measured: {steps} in {measurement.seconds:.1f} s, in which {episodes} ended.")
    print(f"One step of the whole vector: median {_duration(measurement.median_step_seconds)}.")
    print("A step is one action in one environment. The time includes drawing the random actions.")
    return 0


def _time_resets(env_id: str, seed: int) -> tuple[float, list[float]]:
    env = gem.make(env_id)
    try:
        first = _time(partial(env.reset, seed=seed))
        return first, [_time(partial(env.reset, seed=seed + i)) for i in range(1, RESETS + 1)]
    except UsageError:
        raise
    except Exception as error:  # an environment may raise anything; the user gets a sentence
        raise EnvironmentFailure(f"{env_id} could not begin: {type(error).__name__}: {error}") from error
    finally:
        env.close()


def _time(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


class _ActionSampler(EnvWrapper):
    """Puts a random action for the next turn into the info, so that each process draws the actions itself."""

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        observation, info = self.env.reset(seed=seed)
        return observation, {**info, "sample": self.env.sample_random_action()}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if not (terminated or truncated):
            info = {**info, "sample": self.env.sample_random_action()}
        return observation, reward, terminated, truncated, info


def _add_sampler(env: Env) -> Env:
    return _ActionSampler(env)


def _measure(env_id: str, envs: int, backend: Backend, seconds: float, seed: int) -> Measurement:
    with gem.make_vec([env_id] * envs, [_add_sampler], async_mode=backend, seed=seed) as vector:
        _, infos = vector.reset()
        infos = _step(vector, infos, env_id)[0]  # the first one warms up
        step_seconds: list[float] = []
        episodes = 0
        start = time.perf_counter()
        while not step_seconds or time.perf_counter() - start < seconds:
            before = time.perf_counter()
            infos, ended_count = _step(vector, infos, env_id)
            step_seconds.append(time.perf_counter() - before)
            episodes += ended_count
        total_seconds = time.perf_counter() - start
    return Measurement(len(step_seconds) * envs, episodes, total_seconds, statistics.median(step_seconds))


def _step(vector: VectorEnv, infos: list[Info], env_id: str) -> tuple[list[Info], int]:
    for info in infos:
        if "failure" in info:
            raise EnvironmentFailure(f"{env_id} failed during the measurement: {info['failure']}")
    _, _, terminated, truncated, infos = vector.step([info["sample"] for info in infos])
    return infos, sum(
        is_terminated or is_truncated for is_terminated, is_truncated in zip(terminated, truncated, strict=True)
    )


def _duration(seconds: float) -> str:
    """Return a time with a suitable unit."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1000:.2f} ms" if seconds >= 0.001 else f"{seconds * 1_000_000:.0f} µs"
