"""Live games of two and duels that have ended, as games for the ratings.

Counted are public games between two agents that differ, from their beginning: no branches. In a game of two whoever got
more has won. In a duel on one seed, it is whoever solved it or, of two that did, whoever needed fewer turns; if none
did, whoever got more. People are one agent together.
"""

from __future__ import annotations

import math
from datetime import timedelta

from django.db.models import Exists, OuterRef
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
    episodes = _new(Episode.objects.ended()).filter(seat_count=2).prefetch_related("seats")[:MOST_AT_ONCE]
    found = []
    for episode in episodes:
        seats = sorted(episode.seats.all(), key=lambda seat: seat.number)
        if len(seats) == 2 and seats[0].agent_id != seats[1].agent_id:
            result = _compare(seats[0].total_reward, seats[1].total_reward)
            found.append(_game(episode, seats[0], seats[1], result))
    return found


def _duels() -> list[Game]:
    """Duels of two agents on one seed, of which both episodes ended by the rules."""
    first = _new(Episode.objects.ended()).filter(batch__kind=Batch.Kind.DUEL, seat_count=1, slot=0)
    found = []
    for episode in first.select_related("batch").prefetch_related("seats")[:MOST_AT_ONCE]:
        others = list(Episode.objects.filter(batch=episode.batch_id).exclude(pk=episode.pk).prefetch_related("seats"))
        if len(others) != 1 or others[0].status != Episode.Status.ENDED or others[0].taken_over:
            continue
        own, other = episode.seats.all()[0], others[0].seats.all()[0]
        if own.agent_id != other.agent_id:
            result = _compare(_merit(episode, own), _merit(others[0], other))
            found.append(_game(episode, own, other, result))
    return found


def _new(episodes: EpisodeQuerySet) -> EpisodeQuerySet:
    """Of these the public ones outside of jobs that began lately and are no games yet.

    Where a person has taken the seat of an agent, the result is nobody's.
    """
    recent = episodes.published().filter(of_job=False, parent=None, taken_over=False)
    recent = recent.filter(created__gt=Now() - LOOK_BACK)
    return recent.filter(~Exists(Game.objects.filter(episode=OuterRef("pk"))), env_kwargs={}, wrappers=[])


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
