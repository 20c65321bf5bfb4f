"""Benchmarks: versioned lists of environments, seeds and reference returns, and the baselines they rest on.

A benchmark is a JSON file in this folder. Two others stand beside them: `baselines.json` holds what the random agent
and the expert reach in every registered environment (`python -m bench.baselines` writes it), `checks.json` what
`gem.check` found in each (`python -m bench.checks`).
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
class Entry:
    """One environment of a benchmark and the scale on which its returns are compared."""

    env_id: str
    first_seed: int
    episodes: int
    """Seeds `first_seed` to `first_seed + episodes - 1`."""
    random_return: float
    """The random agent's mean return: the 0 of the scale."""
    best_return: float
    """The best possible return: the 1 of the scale."""

    @property
    def seeds(self) -> range:
        """The seeds, one episode each."""
        return range(self.first_seed, self.first_seed + self.episodes)

    def normalize(self, value: float) -> float:
        """A return on the scale of this entry."""
        return normalize(value, self.random_return, self.best_return)


def normalize(value: float, low: float, high: float) -> float:
    """`value` on the scale where `low` (the random agent) is 0 and `high` (the best possible) is 1; not clipped.

    Raises:
        InvalidArgument: if the scale has no length.
    """
    if not high > low:
        raise InvalidArgument(f"A scale needs a high end above its low end, not {low} and {high}.")
    return (value - low) / (high - low)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A list of environments and seeds that agents are ranked on; a change of it is a new version."""

    name: str
    version: int
    title: str
    summary: str
    entries: tuple[Entry, ...]

    @property
    def env_ids(self) -> list[str]:
        """The environments, in order."""
        return [entry.env_id for entry in self.entries]

    def entry(self, env_id: str) -> Entry:
        """The entry of an environment.

        Raises:
            InvalidArgument: if the benchmark does not have it.
        """
        for entry in self.entries:
            if entry.env_id == env_id:
                return entry
        raise InvalidArgument(f"{env_id} is not in the benchmark {self.name}.")


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a reference agent reaches in an environment."""

    env_id: str
    env_version: int
    agent: str
    """`random` or `expert`."""
    n: int
    """Episodes, seeds 0 to n - 1."""
    mean_return: float
    low: float
    high: float
    """The 95 % interval of the mean return."""
    success_rate: float
    mean_turns: float
    data: str = ""
    """Where the problems came from, of an environment over a dataset: "built-in sample gsm8k"."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What `gem.check` found in one version of an environment."""

    env_id: str
    env_version: int
    engine_version: str
    """The release of the engine that checked it."""
    checked: str
    """The day, as in 2026-01-31."""
    findings: dict[str, str]
    """Every promise's key and what came of it: `ok`, `wrong`, `left out`."""

    def keeps(self, *promises: str) -> bool:
        """Whether all of these promises were tried and kept."""
        return all(self.findings.get(promise) == "ok" for promise in promises)


def names() -> list[str]:
    """The benchmarks there are."""
    files = (path.name for path in resources.files(__name__).iterdir())
    return sorted(
        name.removesuffix(".json") for name in files if name.endswith(".json") and name not in {BASELINES, CHECKS}
    )


@cache
def load(name: str) -> Benchmark:
    """The benchmark called `name`.

    Raises:
        InvalidArgument: if there is none of that name.
    """
    if name not in names():
        raise InvalidArgument(f"There is no benchmark {name!r}. There is {', '.join(names())}.")
    data = _read(f"{name}.json")
    entries = tuple(Entry(**entry) for entry in data.pop("entries"))
    return Benchmark(name=name, entries=entries, **data)


def ranking(env_id: str, seed: int) -> Benchmark | None:
    """The benchmark that ranks agents on this seed of an environment; None if there is none."""
    for benchmark in map(load, names()):
        if any(entry.env_id == env_id and seed in entry.seeds for entry in benchmark.entries):
            return benchmark
    return None


@cache
def baselines() -> tuple[Baseline, ...]:
    """All baselines."""
    return tuple(Baseline(**row) for row in _read(BASELINES)["baselines"])


def baseline(env_id: str, agent: str) -> Baseline | None:
    """What `agent` (`random` or `expert`) reaches in an environment, or None where it was not measured."""
    return _by_key().get((env_id, agent))


@cache
def _by_key() -> dict[tuple[str, str], Baseline]:
    return {(row.env_id, row.agent): row for row in baselines()}


def checked(env_id: str, env_version: int) -> Checked | None:
    """What was found in this very version of an environment, or None where it was not checked."""
    found = _checks().get(env_id)
    return found if found is not None and found.env_version == env_version else None


@cache
def _checks() -> dict[str, Checked]:
    return {row["env_id"]: Checked(**row) for row in _read(CHECKS)["checks"]}


def _read(file: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(resources.files(__name__).joinpath(file).read_text("utf-8"))
    return data
