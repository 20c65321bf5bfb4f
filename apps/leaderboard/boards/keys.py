"""Which rows are on which board: those of a benchmark, a season and a group of tiers, with tools or without."""

from __future__ import annotations

from typing import NamedTuple

from apps.leaderboard.models import Ranking, Score, ScoreQuerySet
from apps.seasons.models import Season
from gem.benchmarks import Benchmark

Group = Ranking.Group


class BoardKey(NamedTuple):
    """A board."""

    benchmark: str
    version: int
    season_id: int | None
    """None of rows on published seeds."""
    group: str
    """A `Ranking.Group`."""
    with_tools: bool


def group_of(tier: str | None) -> Group:
    """The group of a tier. Rows on published seeds have none: our workers played them too."""
    if tier == "verified":
        return Group.VERIFIED
    return Group.REPORTED if tier == "reported" else Group.PLAYED_HERE


def rows_by_board() -> dict[BoardKey, list[int]]:
    """The ids of the overall scores of every board, sorted.

    A row that was withdrawn, or that waits for its re-execution, is on no board.
    """
    return _by_board(Score.objects.on_boards().ranking())


def rows_of(benchmark: Benchmark, season: Season | None, with_tools: bool) -> dict[BoardKey, list[int]]:
    """The same of the boards of one benchmark, in one season or on its published seeds."""
    return _by_board(Score.objects.of(benchmark).in_season(season).with_tools(with_tools).ranking())


def _by_board(scores: ScoreQuerySet) -> dict[BoardKey, list[int]]:
    columns = "pk", "benchmark", "benchmark_version", "job__batch__season_id", "job__reexecution__tier", "tools"
    found: dict[BoardKey, list[int]] = {}
    for pk, benchmark, version, season_id, tier, tools in scores.newest_of_each().values_list(*columns):
        key = BoardKey(benchmark, version, season_id, group_of(tier).value, bool(tools))
        found.setdefault(key, []).append(pk)
    return {key: sorted(pks) for key, pks in found.items()}
