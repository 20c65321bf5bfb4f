"""The ranks of rows, computed by a worker when the rows of a board are others than those that were ranked."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from apps.leaderboard.boards.keys import BoardKey, rows_by_board
from apps.leaderboard.boards.waking import wake
from apps.leaderboard.models import FirstPlace, Ranking, Score
from apps.leaderboard.results import results_of, returns_of, scales_of
from gem import benchmarks
from gem.benchmarks import Benchmark
from gem.errors import UsageError
from gem.evaluation.ranking.board import Board, rank

logger = logging.getLogger(__name__)

LONGEST = timedelta(minutes=10)
"""After so long a worker that began a ranking is taken for dead, and another one begins again."""
FEWEST_ROWS = 2
"""On a board with fewer rows, leading says nothing."""
MOST_ROWS = 200
"""Rows of a board that are ranked: the best ones by their mean. All pairs are compared, so the work grows with the
square of their number."""


def compute_all(stopping: Callable[[], bool] = lambda: False) -> int:
    """Compute the rankings of all boards whose rows have changed. Returns their number."""
    return sum(not stopping() and compute(key, rows) for key, rows in outdated().items())


def wake_if_outdated() -> int:
    """Wake a worker if there is a board whose rows have changed. Returns the number of such boards."""
    count = len(outdated())
    if count:
        wake()
    return count


def outdated() -> dict[BoardKey, list[int]]:
    """The rows of the boards whose ranking was computed for other rows; boards without rows have none."""
    present = rows_by_board()
    columns = "benchmark", "version", "season_id", "group", "with_tools", "rows"
    kept = {BoardKey(*key): rows for *key, rows in Ranking.objects.values_list(*columns)}
    return {
        key: present.get(key, [])
        for key in {**present, **kept}
        if present.get(key, []) != kept.get(key, []) and benchmark_of(key) is not None
    }


def benchmark_of(key: BoardKey) -> Benchmark | None:
    """The benchmark of a board in its version; None if it is not known any more."""
    try:
        present = benchmarks.load(key.benchmark)
    except UsageError:
        return None
    return present if present.version == key.version else benchmarks.earlier(key.benchmark, key.version)


def compute(key: BoardKey, rows: list[int]) -> bool:
    """Compute the ranking of a board, and keep it. False if another worker computes it."""
    where: dict[str, Any] = key._asdict()
    kept, _ = Ranking.objects.get_or_create(**where)
    now = timezone.now()
    free = Ranking.objects.filter(Q(begun=None) | Q(begun__lt=now - LONGEST), pk=kept.pk)
    if not free.update(begun=now):
        return False
    try:
        ranks, claims = _ranking(key, rows)
        mine = Ranking.objects.filter(pk=kept.pk, begun=now)
        if mine.update(rows=rows, ranks=ranks, claims=claims, computed=timezone.now()):
            note_first_place(kept, ranks[""])
    finally:
        Ranking.objects.filter(pk=kept.pk, begun=now).update(begun=None)
    logger.info("%s: %d rows ranked", kept, len(rows))
    return True


def note_first_place(ranking: Ranking, ranks: Mapping[str, Sequence[int]]) -> FirstPlace | None:
    """Note who leads a board whose ranks were computed, if that is another row than before.

    Rows are the same if they belong to the same agent and the same account; a later try of whoever leads is no news.

    Args:
        ranks: the best and the worst rank by the id of the overall score.
    """
    firsts = [int(key) for key, (best, _) in ranks.items() if best == 1]
    if ranking.group != Ranking.Group.PLAYED_HERE or len(ranks) < FEWEST_ROWS or not firsts:
        return None
    leader = Score.objects.filter(pk__in=firsts).select_related("job").order_by("-mean", "pk").first()
    last = ranking.first_places.select_related("score__job").first()
    if leader is None or (last is not None and _whose(last.score) == _whose(leader)):
        return None
    return FirstPlace.objects.create(ranking=ranking, score=leader, worst=ranks[str(leader.pk)][1])


def _whose(score: Score) -> tuple[int, str, int | None]:
    """What a row belongs to."""
    return score.agent_id, score.tools, score.job.owner_id


Ranks = dict[str, dict[str, list[int]]]
Claims = list[list[float | int | None]]


def _ranking(key: BoardKey, rows: list[int]) -> tuple[Ranks, Claims]:
    benchmark = benchmark_of(key)
    assert benchmark is not None  # boards of unknown benchmarks are not computed
    scores = Score.objects.filter(pk__in=rows).order_by("-mean", "pk").select_related("job")[:MOST_ROWS]
    played = {str(score.pk): returns_of(results_of(score.job, benchmark)) for score in scores}
    scales = scales_of(benchmark)
    played = {name: returns for name, returns in played.items() if all(returns.values())}
    whole = rank(played, scales)
    ranks = {"": _ranks(whole)}
    for env_id in scales:
        own = {name: {env_id: returns[env_id]} for name, returns in played.items()}
        ranks[env_id] = _ranks(rank(own, {env_id: scales[env_id]}))
    claims: Claims = [
        [int(claim.first), int(claim.second), claim.difference, claim.low, claim.high, claim.p_adjusted]
        for claim in whole.claims
    ]
    return ranks, claims


def _ranks(board: Board) -> dict[str, list[int]]:
    return {row.name: [row.ranks.best, row.ranks.worst] for row in board.rows}
