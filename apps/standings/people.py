"""People as rows of a benchmark: one row for all of them, and one for each who wants to be named.

What counts are ranked episodes of people with an account: seeds of their own, each played once, without hints. Whoever
begins one and leaves it has its return so far a day later, so that nobody chooses which of them count. A row has a
score for the benchmark only when it has episodes of every environment that a person can play.

In the row of all people, a person is one observation, because the episodes of one person resemble each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Q
from django.utils import timezone

from apps.accounts.models import User
from apps.episodes.models import Batch, Episode
from apps.leaderboard.human_tries import is_for_one_person
from apps.leaderboard.season_tries import LEFT, counted, ranked_seats
from apps.seasons.models import DAILY, Season
from apps.standings.models import Summary
from gem import benchmarks
from gem.benchmarks import Benchmark
from gem.evaluation.intervals import Estimate, SeedSums, estimate_return, estimate_success
from gem.evaluation.scores import pool_estimates, scaled

ALL = 0
"""The key of the row of all people; those of others are the ids of their accounts."""


@dataclass(frozen=True, slots=True)
class PeopleRow:
    """A row of people, as pages and the API show it."""

    name: str
    people: int
    n: int
    score: float | None
    """The mean over all environments, where 0 is the random agent and 1 the anchor; None if it has not played all."""
    low: float | None
    high: float | None
    reason: str
    """Why there is no interval, as a sentence."""
    solved: float
    environments: int
    """In how many it has played."""


def refresh() -> int:
    """Compute the rows of every season in which people have played since the last call. Returns their number."""
    lately = Q(revealed_at=None) | Q(revealed_at__gt=timezone.now() - 2 * LEFT)
    return sum(_refresh(season) for season in Season.objects.exclude(benchmark=DAILY).filter(lately))


def _refresh(season: Season) -> bool:
    if season.benchmark not in benchmarks.names():
        return False
    benchmark = benchmarks.load(season.benchmark)
    if benchmark.version != season.version:
        return False
    played = Episode.objects.filter(batch__kind=Batch.Kind.RANKED, batch__season=season)
    state = played.aggregate(n=Count("pk"), seq=Max("seq"), over=Count("pk", filter=~Q(status="running")))
    mark = f"{state['n']} {state['over']} {state['seq']} {timezone.now():%Y-%m-%d %H}"
    kept = Summary.objects.filter(name=name_of(season)).first()
    if not state["n"] or (kept is not None and kept.mark == mark):
        return False
    Summary.objects.update_or_create(
        name=name_of(season), defaults={"content": compute(season, benchmark), "mark": mark}
    )
    return True


def name_of(season: Season) -> str:
    """The name of the summary of a season."""
    return f"people of {season.benchmark} v{season.version} season {season.number}"


def compute(season: Season, benchmark: Benchmark) -> dict[str, Any]:
    """The scores of all people and of each, by environment. Names are looked up when they are shown."""
    returns: dict[int, dict[str, list[tuple[float, bool]]]] = {}
    for user, env_id, reward, success in _counted(season):
        returns.setdefault(user, {}).setdefault(env_id, []).append((reward, bool(success)))
    rows = {str(user): _row(benchmark, {env: [[one] for one in own] for env, own in by_env.items()})
            for user, by_env in returns.items()}  # fmt: skip
    together: dict[str, list[list[tuple[float, bool]]]] = {}
    for by_env in returns.values():
        for env_id, own in by_env.items():
            together.setdefault(env_id, []).append(own)
    return {"people": len(returns), "rows": {**rows, str(ALL): _row(benchmark, together)}}


def _counted(season: Season) -> Iterable[tuple[int, str, float, bool | None]]:
    """Account, environment, return and success of every episode that counts."""
    seats = counted(ranked_seats(season)).filter(user__isnull=False, user__closed=None)
    return seats.order_by("episode__created").values_list(
        "user_id", "episode__env_id", "total_reward", "episode__success"
    )


def _row(benchmark: Benchmark, clusters: Mapping[str, list[list[tuple[float, bool]]]]) -> dict[str, Any]:
    """The scores of one row. A cluster is one observation: a seed of a person, or a person among all."""
    sums = {
        env_id: [SeedSums.of([value for value, _ in own], sum(won for _, won in own)) for own in all_of]
        for env_id, all_of in clusters.items()
    }
    scores = {
        entry.env_id: scaled(estimate_return(sums[entry.env_id]), entry.score)
        for entry in benchmark.entries
        if entry.env_id in sums
    }
    needed = [entry.env_id for entry in benchmark.entries if is_for_one_person(entry.env_id)]
    whole = pool_estimates([scores[env_id] for env_id in needed]) if all(e in scores for e in needed) else None
    solved = [estimate_success(sums[env_id]).mean for env_id in scores]
    return {
        "score": _plain(whole) if whole is not None else None,
        "solved": sum(solved) / len(solved) if solved else 0.0,
        "n": sum(one.n for env_id in scores for one in sums[env_id]),
        "by_environment": {
            env_id: {
                **_plain(score),
                "n": sum(one.n for one in sums[env_id]),
                "people": len(sums[env_id]),
                "solved": estimate_success(sums[env_id]).mean,
            }
            for env_id, score in scores.items()
        },
    }


def _plain(estimate: Estimate) -> dict[str, Any]:
    return {"mean": estimate.mean, "low": estimate.low, "high": estimate.high, "reason": estimate.reason}


def rows_of(season: Season | None, env_id: str = "") -> list[PeopleRow]:
    """The row of all people, and those of the people who want to be named, the best first; empty if nobody played."""
    kept = Summary.objects.filter(name=name_of(season)).first() if season is not None else None
    if kept is None:
        return []
    rows: dict[str, dict[str, Any]] = kept.content["rows"]
    ids = [int(key) for key in rows if int(key) != ALL]
    named = dict(User.objects.filter(pk__in=ids, is_named=True, closed=None).values_list("pk", "username"))
    shown = [_shown(rows[str(user)], name, 1, env_id) for user, name in named.items()]
    everybody = _shown(rows[str(ALL)], "all people", kept.content["people"], env_id)
    ordered = sorted(filter(None, shown), key=lambda row: (row.score is None, -(row.score or 0.0), row.name))
    return [row for row in (everybody, *ordered) if row is not None]


def _shown(row: Mapping[str, Any], name: str, people: int, env_id: str) -> PeopleRow | None:
    part = row["by_environment"].get(env_id) if env_id else row
    if part is None:
        return None
    score = part if env_id else (part["score"] or {})
    few = "" if env_id or part["score"] else "No score yet: some environments of this benchmark have not been played."
    return PeopleRow(
        name=name,
        people=part["people"] if env_id and name == "all people" else people,
        n=part["n"],
        score=score.get("mean"),
        low=score.get("low"),
        high=score.get("high"),
        reason=few or score.get("reason", ""),
        solved=part["solved"],
        environments=1 if env_id else len(row["by_environment"]),
    )
