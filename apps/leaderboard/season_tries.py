"""A person's ranked episodes in a season, beside the rows of its board.

They are on hidden seeds of the person's own, so they are compared with agents by their means, not seed by seed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from apps.accounts.models import Viewer
from apps.episodes.models import Batch, Episode, Seat
from apps.episodes.visibility import seats_of
from apps.leaderboard.human_tries import DEFERRED_FIELDS
from apps.leaderboard.models import Score
from apps.seasons.models import Season
from gem.benchmarks import Benchmark
from gem.evaluation.intervals import Estimate, Interval, SeedSums, estimate_return, wilson

LEFT = timedelta(days=1)
"""An episode that nobody has ended so long after it began counts with its return so far."""


@dataclass(frozen=True, slots=True)
class EnvironmentTries:
    """A person's ranked episodes of one environment in a season, and the agents' rows."""

    env_id: str
    count: int
    """How many count."""
    hidden: int
    """How many the season has for each person."""
    mean_return: Estimate
    solved: Interval
    ahead: int
    """The agents whose mean return is higher."""
    agents: int
    best: Score | None
    """The agent's row with the highest mean return; None if the board has no rows."""


def ranked_seats(season: Season) -> QuerySet[Seat]:
    """The seats of people in the ranked episodes of a season."""
    return Seat.objects.filter(
        episode__batch__kind=Batch.Kind.RANKED, episode__batch__season=season, number=F("episode__scored_seat")
    )


def counted(seats: QuerySet[Seat]) -> QuerySet[Seat]:
    """Of these, those that count: over or left alone for a day, played alone, without a hint, and not hidden."""
    is_over = ~Q(episode__status=Episode.Status.RUNNING) | Q(episode__created__lt=timezone.now() - LEFT)
    return seats.filter(
        is_over, advised=False, episode__hidden_reason="", episode__parent=None, episode__taken_over=False
    ).exclude(episode__status=Episode.Status.FAILED)


def why_not(seat: Seat) -> str:
    """Why a ranked episode does not count, in a few words; empty if it does. The same as in `counted`."""
    episode = seat.episode
    reasons = {
        "the expert gave a hint": seat.advised,
        "it is hidden": bool(episode.hidden_reason),
        "it is a fork of another episode": episode.parent_id is not None,
        "somebody else played in it": episode.taken_over,
        "it ended with an environment error": episode.status == Episode.Status.FAILED,
        "it is your turn; a day after its start it counts with its return so far": not episode.over
        and episode.created >= timezone.now() - LEFT,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def own_seats(season: Season, user: Viewer, visitor: str, *, env_id: str = "") -> QuerySet[Seat]:
    """The person's seats in the ranked episodes of a season, the newest first."""
    seats = ranked_seats(season).filter(pk__in=seats_of(user, visitor).values("pk"))
    if env_id:
        seats = seats.filter(episode__env_id=env_id)
    return seats.select_related("episode").defer(*DEFERRED_FIELDS).order_by("-episode__created", "-episode_id")


def by_environment(benchmark: Benchmark, season: Season, seats: QuerySet[Seat]) -> list[EnvironmentTries]:
    """What the person reached in each environment that they played, and the agents' rows without tools there.

    Args:
        seats: from `own_seats`.
    """
    found: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    rows = counted(seats).values_list("episode__env_id", "total_reward", "episode__success")
    for env_id, reward, success in rows.order_by("episode__env_id"):
        found[env_id].append((reward, bool(success)))
    agents: dict[str, list[Score]] = defaultdict(list)
    ranking = Score.objects.of(benchmark).in_season(season).ranking().with_tools(False).newest_of_each()
    of_rows = Score.objects.filter(job__in=ranking.values("job"), env_id__in=found).select_related("agent")
    for score in of_rows if found else []:
        agents[score.env_id].append(score)
    return [_tries(season, env_id, own, agents[env_id]) for env_id, own in found.items()]


def _tries(season: Season, env_id: str, own: Sequence[tuple[float, bool]], agents: Sequence[Score]) -> EnvironmentTries:
    mean = estimate_return([SeedSums.of([reward], int(won)) for reward, won in own])
    return EnvironmentTries(
        env_id=env_id,
        count=len(own),
        hidden=season.hidden.get(env_id, len(own)),
        mean_return=mean,
        solved=wilson(sum(won for _, won in own), len(own)),
        ahead=sum(score.mean_return > mean.mean for score in agents),
        agents=len(agents),
        best=max(agents, key=lambda score: score.mean_return, default=None),
    )
