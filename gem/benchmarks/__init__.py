"""Benchmarks: versioned lists of environments, seeds and reference returns.

A benchmark is a JSON file in this folder. There are two other files: `baselines.json` has the scores of the random
agent and the expert in every registered environment (`python -m bench.baselines` writes it), and `checks.json` has the
findings of `gem.check` (`python -m bench.checks`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from gem.errors import InvalidArgument

BASELINES = "baselines.json"
CHECKS = "checks.json"


@dataclass(frozen=True, slots=True)
class BenchmarkEntry:
    """One environment of a benchmark and the scale that normalizes its returns."""

    env_id: str
    first_seed: int
    episodes: int
    """The number of episodes, with the seeds `first_seed` to `first_seed + episodes - 1`."""
    random_return: float
    """The mean return of the random agent, which is 0 on the scale."""
    best_return: float
    """The best possible return, which is 1 on the scale."""

    @property
    def seeds(self) -> range:
        """The seeds of the episodes."""
        return range(self.first_seed, self.first_seed + self.episodes)

    def normalize(self, value: float) -> float:
        """Convert a return to the scale of this entry."""
        return normalize(value, self.random_return, self.best_return)


def normalize(value: float, low: float, high: float) -> float:
    """Convert `value` to the scale on which `low` (the random agent) is 0 and `high` (the best possible) is 1.

    The result is not clipped.

    Raises:
        InvalidArgument: if `high` is not above `low`.
    """
    if not high > low:
        raise InvalidArgument(f"A scale needs a high end above its low end, not {low} and {high}.")
    return (value - low) / (high - low)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A list of environments and seeds that agents are ranked on; every change makes a new version."""

    name: str
    version: int
    title: str
    summary: str
    entries: tuple[BenchmarkEntry, ...]

    @property
    def env_ids(self) -> list[str]:
        """The ids of the environments, in order."""
        return [entry.env_id for entry in self.entries]

    def entry(self, env_id: str) -> BenchmarkEntry:
        """Return the entry of an environment.

        Raises:
            InvalidArgument: if the benchmark does not have it.
        """
        for entry in self.entries:
            if entry.env_id == env_id:
                return entry
        raise InvalidArgument(f"{env_id} is not in the benchmark {self.name}.")


@dataclass(frozen=True, slots=True)
class Baseline:
    """The scores of a reference agent in an environment."""

    env_id: str
    env_version: int
    agent: str
    """`random` or `expert`."""
    n: int
    """The number of episodes, with the seeds 0 to n - 1."""
    mean_return: float
    low: float
    high: float
    """The ends of the 95 % interval of the mean return are `low` and `high`."""
    success_rate: float
    mean_turns: float
    data: str = ""
    """The source of the problems, if the environment has a dataset: "built-in sample gsm8k"."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The findings of `gem.check` about one version of an environment."""

    env_id: str
    env_version: int
    engine_version: str
    """The release of the engine that checked it."""
    checked: str
    """The date of the check, such as 2026-01-31."""
    findings: dict[str, str]
    """The key of every promise and its status: `ok`, `wrong`, `left out`."""

    def keeps(self, *promises: str) -> bool:
        """Whether all of these promises were checked and kept."""
        return all(self.findings.get(promise) == "ok" for promise in promises)


def names() -> list[str]:
    """Return the names of all benchmarks."""
    files = (path.name for path in resources.files(__name__).iterdir())
    return sorted(
        name.removesuffix(".json") for name in files if name.endswith(".json") and name not in {BASELINES, CHECKS}
    )


@cache
def load(name: str) -> Benchmark:
    """Read the benchmark with this name.

    Raises:
        InvalidArgument: if there is none.
    """
    if name not in names():
        raise InvalidArgument(f"There is no benchmark {name!r}. There is {', '.join(names())}.")
    data = _read(f"{name}.json")
    entries = tuple(BenchmarkEntry(**entry) for entry in data.pop("entries"))
    return Benchmark(name=name, entries=entries, **data)


def ranking(env_id: str, seed: int) -> Benchmark | None:
    """Return the benchmark that has this seed of an environment; None if there is none."""
    for benchmark in map(load, names()):
        if any(entry.env_id == env_id and seed in entry.seeds for entry in benchmark.entries):
            return benchmark
    return None


@cache
def baselines() -> tuple[Baseline, ...]:
    """Return all baselines."""
    return tuple(Baseline(**row) for row in _read(BASELINES)["baselines"])


def baseline(env_id: str, agent: str) -> Baseline | None:
    """Return the baseline of `agent` (`random` or `expert`) in an environment; None if it was not measured."""
    return _by_key().get((env_id, agent))


@cache
def _by_key() -> dict[tuple[str, str], Baseline]:
    return {(row.env_id, row.agent): row for row in baselines()}


def check_result(env_id: str, env_version: int) -> CheckResult | None:
    """Return the result of checking exactly this version of an environment; None if it was not checked."""
    result = _checks().get(env_id)
    return result if result is not None and result.env_version == env_version else None


@cache
def _checks() -> dict[str, CheckResult]:
    return {row["env_id"]: CheckResult(**row) for row in _read(CHECKS)["checks"]}


def _read(file: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(resources.files(__name__).joinpath(file).read_text("utf-8"))
    return data
