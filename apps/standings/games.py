"""Live games of two and duels that have ended, as games for the ratings.

Counted are public games between two agents that differ, from their beginning: no branches. In a game of two whoever got
more has won. In a duel on one seed, it is whoever solved it or, of two that did, whoever needed fewer turns; if none
did, whoever got more. People are one agent together.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

from django.db.models import Exists, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Now

from apps.episodes.models import Batch, Episode, EpisodeQuerySet, Seat
from apps.standings.measuring import SAME_RETURN
from apps.standings.models import Game

LOOK_BACK = timedelta(days=2)
"""Games that began before this are not looked for again."""
MOST_AT_ONCE = 200


def collect() -> int:
    """Store the results of games that have ended since the last call. Returns their number."""
    games = [*_of_two(), *_duels()]
    Game.objects.bulk_create(games, ignore_conflicts=True)
    return len(games)


def _of_two() -> list[Game]:
    """Live games with two seats."""
    seats = Seat.objects.filter(episode=OuterRef("pk")).values("agent")
    episodes = _new(Episode.objects.ended(), seats.filter(number=0), seats.filter(number=1)).filter(seat_count=2)
    found = []
    for episode in episodes.prefetch_related("seats")[:MOST_AT_ONCE]:
        first, second = sorted(episode.seats.all(), key=lambda seat: seat.number)
        found.append(_game(episode, first, second, _compare(first.total_reward, second.total_reward)))
    return found


def _duels() -> list[Game]:
    """Duels of two agents on one seed, of which both episodes ended by the rules."""
    others = Episode.objects.filter(batch=OuterRef("batch")).exclude(pk=OuterRef("pk"))
    own = Seat.objects.filter(episode=OuterRef("pk")).values("agent")
    rival = Seat.objects.filter(
        episode__batch=OuterRef("batch"), episode__slot=1, episode__status=Episode.Status.ENDED,
        episode__taken_over=False,
    ).values("agent")  # fmt: skip
    first = _new(Episode.objects.ended(), own, rival).filter(batch__kind=Batch.Kind.DUEL, seat_count=1, slot=0)
    of_two = first.filter(~Exists(others.exclude(slot=1)))
    found = []
    for episode in of_two.prefetch_related("seats")[:MOST_AT_ONCE]:
        other = Episode.objects.prefetch_related("seats").get(batch=episode.batch_id, slot=1)
        seats = episode.seats.all()[0], other.seats.all()[0]
        found.append(_game(episode, *seats, _compare(_merit(episode, seats[0]), _merit(other, seats[1]))))
    return found


def _new(
    episodes: EpisodeQuerySet, first_agent: QuerySet[Seat, Any], second_agent: QuerySet[Seat, Any]
) -> EpisodeQuerySet:
    """Of these the public ones outside of jobs that began lately, have two agents, and are no games yet.

    Where a person has taken the seat of an agent, the result is nobody's. All that never becomes a game is left out
    here, because so many of these would otherwise keep others out of `MOST_AT_ONCE`.
    """
    recent = episodes.published().filter(of_job=False, parent=None, taken_over=False)
    recent = recent.filter(created__gt=Now() - LOOK_BACK, env_kwargs={}, wrappers=[])
    agents = recent.annotate(first_agent=Subquery(first_agent[:1]), second_agent=Subquery(second_agent[:1]))
    of_two = agents.filter(second_agent__isnull=False).exclude(first_agent=F("second_agent"))
    return of_two.filter(~Exists(Game.objects.filter(episode=OuterRef("pk"))))


def _merit(episode: Episode, seat: Seat) -> float:
    """A number that is larger for the better of two episodes of one seed."""
    if not episode.success:
        return math.atan(seat.total_reward)  # below every solved one
    return 4.0 + 1.0 / (1 + episode.turn_count)


def _compare(first: float, second: float) -> str:
    if abs(first - second) <= SAME_RETURN:
        return Game.Result.TIED
    return Game.Result.WON if first > second else Game.Result.LOST


def _game(episode: Episode, first: Seat, second: Seat, result: str) -> Game:
    return Game(
        episode=episode, env_id=episode.env_id, first_id=first.agent_id, second_id=second.agent_id, result=result
    )
