"""What the hosts of live episodes (`workers.play`) read and write.

A host owns a show while its lease lasts, by the database's clock. Every write checks the lease with the rows
locked, so a host that was believed dead writes nothing, and a show that goes on elsewhere has no turn twice.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import models, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Greatest, Now

import gem
from apps.agents.models import Agent
from apps.episodes import operations
from apps.episodes.models import Episode, Seat, Turn
from apps.episodes.restore import restore
from apps.episodes.text import storable
from apps.leases import LeasedQuerySet, LeaseLost
from apps.live import wake
from apps.play.models import Show
from apps.play.shows.operations import HOSTS
from gem.agents import Decision, Exchange
from gem.core import Step
from gem.seats import observation_for_seat

logger = logging.getLogger(__name__)

REMEMBERING = {Agent.Kind.ENDPOINT, Agent.Kind.CHECKPOINT}
"""Kinds of agents that read the whole episode again when they go on with it in another process."""

AHEAD_SECONDS = 1.0
"""After that it is asked again whether the others of a duel have caught up; mostly their turns wake the hosts first."""
EARLY_SECONDS = 0.02
"""A turn that comes so little before its time is on time."""


_WAITS = Exists(
    Seat.objects.filter(episode=OuterRef("pk"), number=OuterRef("episode__acting"), agent__kind=Agent.Kind.HUMAN)
)
"""Of a show: whether a person acts now."""


@dataclass(frozen=True, slots=True)
class ShowPlan:
    """What a host has to know of a show that it owns."""

    episode_id: str
    wait: float
    """Seconds until the next turn is due."""
    idle: bool
    """No turn is wanted: it is paused, a person acts, or nobody watches the showcase."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A turn that was recorded, and what follows."""

    turn: Turn
    """The last one: a person's in the same round may have followed the agent's."""
    over: bool
    wait: float
    """Seconds until the next turn is due."""


@dataclass(frozen=True, slots=True)
class ResumedShow:
    """Where a host goes on: everything an agent needs for the next turn."""

    episode: Episode
    env: gem.Env
    agents: dict[int, tuple[Agent, dict[str, Any] | None]]
    """The agent in each seat and how it was set up; a person's seat is not among them."""
    past: dict[int, list[Exchange]]
    """What each seat read and did so far."""
    observation: str
    info: dict[str, object]


def claim(token: UUID, most: int, *, showcase: bool) -> list[str]:
    """Own up to `most` shows that want a turn and that nobody owns; showcases only if `showcase`.

    A show whose owners died `MAX_ATTEMPTS` times without a turn between ends here.
    """
    wanted = _running().filter(_wanted(showcase))
    for episode_id in wanted.worn().values_list("pk", flat=True)[:most]:
        _give_up(episode_id)
    return wanted.claimable().order_by("next_turn_at").claim(token, most)


def renew(token: UUID) -> int:
    """Prolong the leases that have not run out; returns how many."""
    return Show.objects.owned_by(token).renew()


def release(token: UUID, episode_ids: Collection[str] | None = None) -> None:
    """Let go of these shows, or of all; another host may go on at once."""
    shows = Show.objects.filter(lease_token=token)
    if episode_ids is not None:
        shows = shows.filter(pk__in=episode_ids)
    shows.release(attempt=0)


def plans(token: UUID, *, showcase: bool) -> list[ShowPlan]:
    """The shows that `token` owns now."""
    return [
        ShowPlan(
            episode_id=show.pk,
            wait=_seconds(show.wait),
            idle=(show.paused and not show.turns_due) or (show.showcase and not showcase) or show.waits,
        )
        for show in _with_wait(_running().owned_by(token)).annotate(waits=_WAITS)
    ]


def begin_again(episode_id: str) -> ResumedShow:
    """The episode after its last turn, and who acts.

    Raises:
        Whatever the environment raises when it is made.
    """
    episode = Episode.objects.get(pk=episode_id)
    seats = episode.seats.select_related("agent").exclude(agent__kind=Agent.Kind.HUMAN)
    last = episode.turns.order_by("number").last()
    return ResumedShow(
        episode=episode,
        env=restore(episode),
        agents={seat.number: (seat.agent, seat.set_up) for seat in seats},
        past=_past(episode) if any(seat.agent.kind in REMEMBERING for seat in seats) else {},
        observation=last.observation if last else episode.first_observation,
        info=last.info if last else episode.first_info,
    )


@transaction.atomic
def is_due(episode_id: str, token: UUID) -> bool | float:
    """Whether the next turn is wanted now, or the seconds still to wait: asked before a slow environment is stepped.

    Raises:
        LeaseLost: the show belongs to another host.
    """
    show, wait = _own(episode_id, token)
    if show.paused and not show.turns_due:
        return False
    if wait <= EARLY_SECONDS and awaited(show.episode, show):
        return AHEAD_SECONDS
    return wait if wait > EARLY_SECONDS else True


@transaction.atomic
def take_turn(
    episode_id: str, token: UUID, env: gem.Env, number: int, decision: Decision, answer: Step | None = None
) -> Taken | float | None:
    """Record turn `number` if it is wanted now: the turn, the seconds still to wait, or None if it is not wanted.

    With an `answer` the environment has been stepped already, and the turn is recorded in any case.

    Raises:
        LeaseLost: the show or the turn belongs to another host.
        ActionTooLong: as `episodes.operations.check_action`.
        EpisodeEnded, EnvironmentFailure: as `episodes.operations.record_turn`.
    """
    operations.check_action(decision.action)
    episode = operations.lock(episode_id)
    show, wait = _own(episode_id, token)
    if episode.turn_count + 1 != number:
        raise LeaseLost(f"Turn {number} of {episode_id} is not to be played any longer.")
    if answer is None and show.paused and not show.turns_due:
        return None
    if answer is None and wait > EARLY_SECONDS:
        return wait
    if answer is None and awaited(episode, show):
        return AHEAD_SECONDS
    turn = operations.record_turn(episode, env, decision.action, extra_info=decision.recorded_extra, answer=answer)
    turn = operations.play_held(episode, env) or turn
    Show.objects.filter(pk=episode_id).update(
        attempt=0,
        turns_due=Greatest(F("turns_due") - 1, 0) if show.paused else 0,
        next_turn_at=Greatest(F("next_turn_at") + timedelta(seconds=show.pace), Now()),
    )
    if episode.over:
        Show.objects.filter(pk=episode_id).release()
    if show.lock_step:
        wake(HOSTS, episode_id)  # the others may have waited for this turn
    return Taken(turn, episode.over, max(wait + show.pace, 0.0))


def awaited(episode: Episode, show: Show) -> list[Episode]:
    """The episodes of its duel that a show in lock step waits for: those with fewer turns.

    A person begins every turn: who plays beside an agent must not read the turn off its board.
    """
    if not show.lock_step or episode.batch_id is None:
        return []
    others = Episode.objects.running().filter(batch=episode.batch_id).exclude(pk=episode.pk)
    people = Q(seats__agent__kind=Agent.Kind.HUMAN, turn_count=episode.turn_count)
    return list(others.filter(people | Q(turn_count__lt=episode.turn_count)).order_by("slot").distinct())


@transaction.atomic
def rest(episode_id: str, token: UUID, sentence: str) -> None:
    """Pause the show because its agent gave no answer, and say so; whoever steers it may have it asked again.

    Raises:
        LeaseLost: the show belongs to another host.
    """
    episode = operations.lock(episode_id)
    _own(episode_id, token)
    Show.objects.filter(pk=episode_id).release(paused=True, turns_due=0, attempt=0, trouble=storable(sentence)[:2000])
    operations.touch(episode)


@transaction.atomic
def fail(episode_id: str, token: UUID, sentence: str, *, by: Episode.FailedBy = Episode.FailedBy.ENVIRONMENT) -> None:
    """End the episode because its agent or environment broke.

    Raises:
        LeaseLost: the show belongs to another host.
    """
    episode = operations.lock(episode_id)
    _own(episode_id, token)
    operations.fail(episode, sentence, by=by)
    Show.objects.filter(pk=episode_id).release()


@transaction.atomic
def _give_up(episode_id: str) -> None:
    episode = operations.lock(episode_id)
    shows = _running().filter(pk=episode_id).worn().select_for_update()
    if shows.exists() and not episode.over:
        operations.fail(
            episode,
            f"The worker that plays this episode crashed {settings.MAX_ATTEMPTS} times at turn "
            f"{episode.turn_count + 1}. The episode ends here. Its turns are kept.",
        )


def _own(episode_id: str, token: UUID) -> tuple[Show, float]:
    """The show, locked, and the seconds until its next turn is due."""
    show = _with_wait(Show.objects.owned_by(token).select_for_update().filter(pk=episode_id)).first()
    if show is None:
        raise LeaseLost(f"Another host plays {episode_id} by now.")
    return show, _seconds(show.wait)


def _with_wait(shows: models.QuerySet[Show]) -> models.QuerySet[Any]:
    """Annotated with `wait`, the time until the next turn is due."""
    return shows.annotate(wait=models.ExpressionWrapper(F("next_turn_at") - Now(), models.DurationField()))


def _seconds(wait: timedelta | None) -> float:
    return 0.0 if wait is None else wait.total_seconds()


def _past(episode: Episode) -> dict[int, list[Exchange]]:
    """The episode as its seats went through it, for agents that read it again at every turn."""
    past: dict[int, list[Exchange]] = {}
    observation, info = episode.first_observation, episode.first_info
    for turn in episode.turns.order_by("number"):
        reading, own = observation_for_seat(turn.seat, observation, info)
        past.setdefault(turn.seat, []).append(Exchange(reading, own, turn.action))
        observation, info = turn.observation, turn.info
    return past


def _running() -> LeasedQuerySet[Show]:
    return Show.objects.filter(episode__status=Episode.Status.RUNNING)


def _wanted(showcase: bool) -> Q:
    wanted = (Q(paused=False) | Q(turns_due__gt=0)) & ~Q(_WAITS)
    return wanted if showcase else wanted & Q(showcase=False)
