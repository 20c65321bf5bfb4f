"""What was measured of the registered environments: baselines, findings of `gem.check`, and numbers of starts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

BASELINES = "baselines.json"
CHECKS = "checks.json"
STARTS = "starts.json"


@dataclass(frozen=True, slots=True)
class Baseline:
    """The scores of a reference agent in one version of an environment."""

    env_id: str
    env_version: int
    agent: str
    """`random` or `expert`."""
    n: int
    """The number of episodes, with the seeds 0 to n - 1; with several seats, one episode from each seat of a seed, and
    the interval takes all of them to be independent."""
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


@dataclass(frozen=True, slots=True)
class Starts:
    """How many different starts one version of an environment has, and what an agent gains that looks them up."""

    env_id: str
    env_version: int
    seeds: int
    """The number of seeds that were looked at."""
    starts: int
    """How many different starts they gave, with what is hidden from the agent."""
    observations: int
    """How many different first observations they gave."""
    practice: float | None = None
    """The score of `bench/agents/lookup_agent.py` on the seeds that its table was made from, from 0 to 1."""
    hidden: float | None = None
    """Its score on seeds of an unrelated key; None if it was not measured."""


@cache
def baselines() -> tuple[Baseline, ...]:
    """Return all baselines, also those of earlier versions of an environment."""
    return tuple(Baseline(**row) for row in _read(BASELINES)["baselines"])


def baseline(env_id: str, agent: str, env_version: int | None = None) -> Baseline | None:
    """Return the baseline of `agent` (`random` or `expert`) in a version of an environment, or in the newest measured.

    None if it was not measured.
    """
    rows = _by_key().get((env_id, agent), {})
    return rows.get(env_version if env_version is not None else max(rows, default=0))


@cache
def _by_key() -> dict[tuple[str, str], dict[int, Baseline]]:
    found: dict[tuple[str, str], dict[int, Baseline]] = {}
    for row in baselines():
        found.setdefault((row.env_id, row.agent), {})[row.env_version] = row
    return found


def check_result(env_id: str, env_version: int) -> CheckResult | None:
    """Return the result of checking exactly this version of an environment; None if it was not checked."""
    result = _checks().get(env_id)
    return result if result is not None and result.env_version == env_version else None


@cache
def _checks() -> dict[str, CheckResult]:
    return {row["env_id"]: CheckResult(**row) for row in _read(CHECKS)["checks"]}


def starts(env_id: str, env_version: int) -> Starts | None:
    """Return the number of starts of exactly this version of an environment; None if they were not counted."""
    found = _starts().get(env_id)
    return found if found is not None and found.env_version == env_version else None


@cache
def _starts() -> dict[str, Starts]:
    return {row["env_id"]: Starts(**row) for row in _read(STARTS)["starts"]}


def _read(file: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(resources.files("gem.benchmarks").joinpath(file).read_text("utf-8"))
    return data
