"""Benchmarks: versioned lists of environments, seeds and reference returns.

A benchmark is a JSON file in the folder `files` ([how to write one](../../docs/benchmark-files.md)); `document` reads
it, `entries` has its classes, and `scales` the rule of the score. `measured` reads three tables: the scores of the
random agent and the expert in every registered environment (`python -m bench.baselines` writes it), the findings of
`gem.check` (`python -m bench.checks`), and how many starts an environment has (`python -m bench.starts`).
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from gem.benchmarks import document
from gem.benchmarks.entries import Benchmark, BenchmarkEntry, DataSource
from gem.benchmarks.measured import (
    BASELINES,
    CHECKS,
    STARTS,
    Baseline,
    CheckResult,
    Starts,
    baseline,
    baselines,
    check_result,
    starts,
)
from gem.benchmarks.scales import BEST_POSSIBLE, MIN_DISTANCE, Reference, Rule, clip, normalize, score
from gem.errors import InvalidArgument

__all__ = [
    "BASELINES",
    "BEST_POSSIBLE",
    "CHECKS",
    "FIRST",
    "MIN_DISTANCE",
    "STARTS",
    "Baseline",
    "Benchmark",
    "BenchmarkEntry",
    "CheckResult",
    "DataSource",
    "Reference",
    "Rule",
    "Starts",
    "add_source",
    "baseline",
    "baselines",
    "check_result",
    "clip",
    "earlier",
    "has_hidden_seeds",
    "is_own",
    "load",
    "names",
    "normalize",
    "ranking",
    "score",
    "starts",
    "text_of",
    "with_hidden_seeds",
]

FIRST = ("games-easy", "games-hard", "games")
"""Benchmarks that stand before the others; the very first is the one that pages show without a choice."""


def names() -> list[str]:
    """Return the names of all benchmarks: those of `FIRST`, the others by name, and at last the unions of others."""
    found = sorted(path.name.removesuffix(".json") for path in _folder().iterdir() if path.name.endswith(".json"))
    last = len(FIRST)
    places = {name: FIRST.index(name) if name in FIRST else last + _is_union(name) for name in found}
    return sorted(found, key=lambda name: (places[name], name))


@cache
def _is_union(name: str) -> bool:
    return "members" in _read(_folder() / f"{name}.json")


Source = Callable[[str, "int | None"], "Benchmark | None"]
"""Returns a version of a benchmark that is in no file here, or its present one without a version; None if it has none.
"""
_sources: list[Source] = []


def add_source(source: Source) -> None:
    """Let benchmarks be found that a site keeps itself. Their names have a dot: that of their owner is before it."""
    _sources.append(source)


def is_own(name: str) -> bool:
    """Whether a benchmark with this name would be one that a site keeps for somebody, and no file."""
    return "." in name


def load(name: str) -> Benchmark:
    """Return the present version of the benchmark with this name.

    Raises:
        InvalidArgument: if there is none.
    """
    return _from_sources(name, None) or _load(name)


def _from_sources(name: str, version: int | None) -> Benchmark | None:
    if not is_own(name):
        return None
    return next((found for source in _sources if (found := source(name, version)) is not None), None)


@cache
def _load(name: str) -> Benchmark:
    known = names()
    if f"{name}{document.SAMPLE_SUFFIX}" in known and name not in known:
        raise InvalidArgument(
            f"The real data of {name} are not ranked here. There is {name}{document.SAMPLE_SUFFIX}, on problems of "
            "ours."
        )
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"Did you mean {near[0]}?" if near else f"The benchmarks are {', '.join(known)}."
        raise InvalidArgument(f"There is no benchmark {name!r}. {hint}")
    return _benchmark(name, _folder() / f"{name}.json")


def text_of(name: str) -> str:
    """Return the file of the benchmark with this name as text.

    Raises:
        InvalidArgument: if there is none.
    """
    load(name)
    return (_folder() / f"{name}.json").read_text("utf-8")


def earlier(name: str, version: int) -> Benchmark | None:
    """Return an earlier version of a benchmark, from the folder `files/earlier`; None if it was not kept."""
    return _from_sources(name, version) or _earlier(name, version)


@cache
def _earlier(name: str, version: int) -> Benchmark | None:
    file = _folder() / "earlier" / f"{name}-v{version}.json"
    return _benchmark(name, file) if name in names() and file.is_file() else None


def _benchmark(name: str, file: Traversable) -> Benchmark:
    data = _read(file)
    if "score" in data:
        return document.read(data, _member)
    entries = tuple(BenchmarkEntry(**entry) for entry in data.pop("entries"))  # the form of the first benchmark
    return Benchmark(name=name, entries=entries, **data)


def _member(name: str, version: int) -> Benchmark:
    """A version of a benchmark that another one unites with others."""
    present = load(name)
    found = present if present.version == version else earlier(name, version)
    if found is None:
        raise InvalidArgument(f"There is no version {version} of the benchmark {name}, only {present.version}.")
    return found


def has_hidden_seeds(name: str) -> bool:
    """Whether a benchmark is ranked on hidden seeds, so that its public ones are for practice; no if unknown."""
    if not is_own(name):
        return name in with_hidden_seeds()
    found = _from_sources(name, None)
    return found is not None and any(entry.hidden_seeds for entry in found.entries)


@cache
def with_hidden_seeds() -> frozenset[str]:
    """Return the names of the benchmarks in files that are ranked on hidden seeds."""
    return frozenset(name for name in names() if any(entry.hidden_seeds for entry in _load(name).entries))


def ranking(env_id: str, seed: int) -> Benchmark | None:
    """Return the first benchmark that is ranked on this public seed of an environment; None if there is none."""
    for benchmark in map(load, names()):
        is_practice = benchmark.name in with_hidden_seeds()
        if not is_practice and any(entry.env_id == env_id and seed in entry.seeds for entry in benchmark.entries):
            return benchmark
    return None


def _folder() -> Traversable:
    return resources.files(__name__) / "files"


def _read(file: Traversable) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return data
