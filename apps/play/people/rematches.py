"""Rematches: the same people in the same environment, with the seats exchanged."""

from __future__ import annotations

from django.db import transaction

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.episodes import branches, operations
from apps.episodes.errors import NotYourTurn, Refusal
from apps.episodes.models import Episode
from apps.episodes.operations import Occupant
from apps.episodes.visibility import own_seat
from apps.play.models import Rematch


def next_game(episode: Episode) -> Episode | None:
    """The rematch of a game; None if nobody has begun one."""
    found = Rematch.objects.filter(pk=episode.pk).select_related("episode").first()
    return found.episode if found else None


def begin(episode: Episode, *, user: Viewer, visitor: str) -> Episode:
    """Begin the rematch of a game that has ended, or find it if somebody has begun it. The pages of both say so.

    Raises:
        NotYourTurn: the person did not play.
        Refusal: the game goes on, agents played in it, or its environment is gone.
    """
    if own_seat(episode, user, visitor) is None:
        raise NotYourTurn("Only the people who have played can begin a rematch.")
    seats = list(episode.seats.select_related("agent", "user").order_by("number"))
    if not episode.over:
        raise Refusal("This game is not over yet. Give it up, or play it to its end.")
    if len(seats) < 2 or any(seat.agent.kind != Agent.Kind.HUMAN or seat.is_free for seat in seats):
        raise Refusal("A rematch is between people. Against an agent, play a new seed.")
    if found := next_game(episode):
        return found
    branches.check_registered(episode)
    draft = operations.draft(episode.env_id, seed=None, env_kwargs=episode.env_kwargs, wrappers=episode.wrappers)
    occupants = [Occupant(seat.agent, user=seat.user, visitor=seat.visitor, name=seat.name) for seat in seats]
    with transaction.atomic():
        locked = operations.lock(episode.pk)
        if found := next_game(locked):
            return found
        stored = operations.store(draft, seats=[*occupants[1:], occupants[0]], visibility=locked.visibility)
        Rematch.objects.create(after=locked, episode=stored)
        operations.touch(locked)
    return stored
