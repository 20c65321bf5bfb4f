"""Which episodes can be compared with those that agents are ranked by."""

from __future__ import annotations

from apps.episodes.models import Episode
from gem import benchmarks
from gem.benchmarks import Benchmark


def ranked_in(episode: Episode) -> Benchmark | None:
    """The benchmark that has its seed, if it was played by the same rules: nothing was added to the environment."""
    if episode.env_kwargs or episode.wrappers or episode.seat_count > 1:
        return None
    return benchmarks.ranking(episode.env_id, episode.seed)
