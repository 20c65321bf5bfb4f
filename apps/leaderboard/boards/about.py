"""What the page of a benchmark says: its seasons to scale, its anchors, what a lookup table gains, and its data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import fmean
from typing import Any

from django.utils import timezone

from apps.benchmarks.reading import beside
from apps.leaderboard.boards import citation, reading
from apps.leaderboard.models import Score
from apps.seasons.models import Season
from gem import benchmarks
from gem.benchmarks import Benchmark, BenchmarkEntry

SEASONS_SHOWN = 12
FEW_SEEDS = 4
"""Practice seeds that the page names."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A season in the timeline, in percent of its width."""

    season: Season
    state: str
    """`open`, `running`, or `closing` when it is over and its key not yet published."""
    x: float
    width: float

    @property
    def middle(self) -> float:
        """Where its number stands."""
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class Measured:
    """An environment of the benchmark, with its scale drawn from 0, the random agent, to 1, the anchor."""

    entry: BenchmarkEntry
    random_at: float
    """The place of the random agent's return in percent of the way from the lowest value to the highest."""
    anchor_at: float


def context_of(benchmark: Benchmark) -> dict[str, Any]:
    """What the template of the page needs."""
    seasons = reading.seasons_of(benchmark)[:SEASONS_SHOWN]
    season = seasons[0] if seasons else None
    now = timezone.now()
    scores = Score.objects.of(benchmark).in_season(season).ranking().filter(env_id="")
    return {
        "benchmark": benchmark,
        "names": beside(benchmark),
        "seasons": seasons,
        "season": season,
        "now": now,
        "bars": _bars(seasons, now),
        "rows": scores.newest_of_each().count(),
        "measured": [_measured(entry) for entry in benchmark.entries],
        "hidden": sum(entry.hidden_seeds for entry in benchmark.entries),
        "practice": sum(entry.episodes for entry in benchmark.entries),
        "some_seeds": list(benchmark.entries[0].seeds[:FEW_SEEDS]) if benchmark.entries else [],
        "last_seed": benchmark.entries[0].seeds[-1] if benchmark.entries else None,
        "same_seeds": len({entry.seeds for entry in benchmark.entries}) == 1,
        "lookup": _lookup(benchmark),
        "sources": _sources(benchmark),
        "bibtex": citation.as_bibtex(benchmark, season),
    }


def _bars(seasons: Sequence[Season], now: datetime) -> list[Bar]:
    if not seasons:
        return []
    first = min(season.begins for season in seasons)
    whole = max(max(season.ends for season in seasons) - first, timedelta(days=1))
    bars = []
    for season in reversed(seasons):
        state = "open" if season.is_revealed else "closing" if season.ends <= now else "running"
        bars.append(
            Bar(season, state, 100 * ((season.begins - first) / whole), 100 * ((season.ends - season.begins) / whole))
        )
    return bars


def _measured(entry: BenchmarkEntry) -> Measured:
    low, high = min(0.0, entry.random_return), max(1.0, entry.best_return)
    width = high - low
    return Measured(entry, 100 * (entry.random_return - low) / width, 100 * (entry.best_return - low) / width)


def _lookup(benchmark: Benchmark) -> tuple[float, float, int] | None:
    """The mean score of the agent of `bench/agents/lookup_agent.py` on public and on unrelated seeds, and over how many
    environments; those that are labelled open sets are left out. None if it was measured in none."""
    closed = (entry for entry in benchmark.entries if not entry.open_set)
    found = [benchmarks.starts(entry.env_id, entry.env_version) for entry in closed]
    pairs = [(one.practice, one.hidden) for one in found if one and one.practice is not None and one.hidden is not None]
    if not pairs:
        return None
    return fmean(practice for practice, _ in pairs), fmean(hidden for _, hidden in pairs), len(pairs)


def _sources(benchmark: Benchmark) -> list[tuple[Any, list[str]]]:
    """The data of the benchmark, each with the environments that are played on them."""
    found: dict[Any, list[str]] = {}
    for entry in benchmark.entries:
        if entry.data is not None:
            found.setdefault(entry.data, []).append(entry.env_id)
    return list(found.items())
