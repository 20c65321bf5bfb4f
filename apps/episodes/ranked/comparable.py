"""Which episodes are comparable to the ranked episodes of a benchmark, and which are tries at a daily seed."""

from __future__ import annotations

from apps.episodes.models import Episode
from apps.seasons.models import Season
from gem import benchmarks
from gem.benchmarks import Benchmark


def ranked_in(episode: Episode) -> Benchmark | None:
    """The benchmark with this environment and seed; None if there is none or the episode's rules differ from it."""
    if episode.env_kwargs or episode.wrappers or episode.seat_count > 1:
        return None
    return benchmarks.ranking(episode.env_id, episode.seed)


def day_of(episode: Episode) -> Season | None:
    """The day whose daily seed an episode plays; None of other episodes."""
    season = episode.batch.season if episode.batch is not None else None
    return season if season is not None and season.is_day else None
