"""Benchmarks with few episodes, for tests in which it does not matter how many are played."""

from dataclasses import replace

import pytest

from gem import benchmarks
from gem.benchmarks import Benchmark


def shorten(monkeypatch: pytest.MonkeyPatch, episodes: int = 3) -> None:
    """Let every benchmark have so many episodes of each environment while the test lasts."""
    load = benchmarks.load

    def load_short(name: str) -> Benchmark:
        whole = load(name)
        return replace(whole, entries=tuple(replace(entry, episodes=episodes) for entry in whole.entries))

    monkeypatch.setattr(benchmarks, "load", load_short)
