"""Benchmarks with few episodes, for tests in which it does not matter how many are played."""

from dataclasses import replace

import pytest

from gem import benchmarks
from gem.benchmarks import Benchmark


def shorten(monkeypatch: pytest.MonkeyPatch, episodes: int = 3, every: int = 1) -> None:
    """Let every benchmark have so many episodes of one in `every` environments while the test lasts."""
    load = benchmarks.load

    def load_short(name: str) -> Benchmark:
        whole = load(name)
        entries = tuple(replace(entry, episodes=episodes) for entry in whole.entries[::every])
        return replace(whole, entries=entries)

    monkeypatch.setattr(benchmarks, "load", load_short)
