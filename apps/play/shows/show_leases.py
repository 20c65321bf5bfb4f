"""What the hosts of live episodes (`workers.play`) read and write.

A host owns a show while its lease lasts, by the database's clock. Every write checks the lease with the rows locked. So
a host whose lease has expired writes nothing, and no turn of a show is played twice.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import models, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Coalesce, Greatest, Now

import gem
from apps.accounts import quotas
from apps.admission.line import Line, rows
from apps.admission.models import name_of
from apps.agents.models import Agent
from apps.episodes import handovers, operations
from apps.episodes.branches import draw_key_of
from apps.episodes.models import OF_PEOPLE, Episode, Seat, Turn
from apps.episodes.restore import restore
from apps.episodes.text import storable
from apps.leases import LeasedQuerySet, LeaseLost, RowsLocked, patient_transaction
from apps.live import wake
from apps.play import pending
from apps.play.models import Show
from apps.play.shows.operations import ACCOMPANIES, HOSTS
from gem.agents import Decision, Exchange
from gem.core import Step
from gem.errors import Side
from gem.seats import observation_for_seat

logger = logging.getLogger(__name__)

KINDS_WITH_HISTORY = {Agent.Kind.ENDPOINT, Agent.Kind.REMOTE, Agent.Kind.CHECKPOINT}
"""Kinds of agents that need the earlier turns to continue an episode in another process."""

CATCH_UP_SECONDS = 1.0
"""How often to check whether the others of a duel have caught up. Usually their turns wake the host earlier."""
TOLERANCE_SECONDS = 0.02
"""A turn that is early by at most this much is played at once."""


_PERSON_ACTS = Exists(Seat.objects.filter(OF_PEOPLE, episode=OuterRef("pk"), number=OuterRef("episode__acting")))
"""For queries of shows: whether it is a person's turn."""


@dataclass(frozen=True, slots=True)
class ShowPlan:
    """What a host has to know about a show that it owns."""

    episode_id: str
    wait: float
    """Seconds until the next turn is due."""
    idle: bool
    """Whether no turn is to be played: it is paused, a person is to act, or nobody watches the showcase."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A recorded turn, and when the next one is due."""

    turn: Turn
    """The last recorded turn. A held turn of a person may have followed the agent's."""
    over: bool
    wait: float
    """Seconds until the next turn is due."""


@dataclass(frozen=True, slots=True)
class ResumedShow:
    """The state from which a host continues: everything that the agents need for the next turn."""

    episode: Episode
    env: gem.Env
    agents: dict[int, tuple[Agent, dict[str, Any] | None]]
    """The agent in each seat with its set-up; seats of people are left out."""
    past: dict[int, list[Exchange]]
    """The earlier turns as each seat read and played them."""
    told: dict[int, str]
    """What people have left for the agent in a seat, which it reads before its next observation."""
    observation: str
    info: dict[str, object]
    owner_id: int | None
    """Whose CPU seconds it uses: the person who started it, or who plays in it; None for visitors."""


def claim(token: UUID, limit: int, *, showcase: bool) -> list[str]:
    """Claim up to `limit` shows that have a turn to play and no owner, with showcases only if `showcase`.

    People are served in turn, and the shows of a duel are claimed together. The episode fails if the show's owners died
    `MAX_ATTEMPTS` times at the same turn.
    """
    playable = _running().filter(_has_turns_to_play(showcase))
    if not playable.free().exists():  # hosts look every second
        return []
    for episode_id in playable.worn().values_list("pk", flat=True)[:limit]:
        with suppress(RowsLocked):  # the next sweep tries again
            _give_up(episode_id)
    claimed: list[str] = []
    for line, kind in _lines():
        free = playable.filter(kind).claimable()
        claimed += line.claim(_rows(free), _busy(kind), token, limit - len(claimed))
    return claimed


def waiting() -> LeasedQuerySet[Show]:
    """The shows that wait for a host, except the showcase, which plays only while somebody watches."""
    return _running().filter(_has_turns_to_play(False)).free()


def place(episode_id: str) -> int | None:
    """The place of this show in the queue, from 1; None if it need not wait for a host."""
    places = (line.place(_rows(waiting().filter(kind)), _busy(kind), episode_id) for line, kind in _lines())
    return next(filter(None, places), None)


def _lines() -> list[tuple[Line, Q]]:
    """The lines with filters for their shows: the agents in people's games come first.

    The limits count for each line: whoever watches as many live episodes as one may can still play against an agent.
    """
    others = {name_of(user_id): most for user_id, most in quotas.overrides(quotas.LIVE_EPISODES).items()}
    limits = (settings.SHOWS_PER_PERSON, settings.SHOWS_PER_ADDRESS)
    return [(Line("answer", *limits), ACCOMPANIES), (Line("show", *limits, others), ~ACCOMPANIES)]


def _rows(shows: LeasedQuerySet[Show]) -> LeasedQuerySet[Show]:
    return rows(shows, since="next_turn_at", unit=Coalesce("episode__batch_id", "episode_id"))


def _busy(kind: Q) -> LeasedQuerySet[Show]:
    """The shows of one line that hosts play now."""
    return _rows(Show.objects.filter(kind, lease_until__gt=Now()))


def renew(token: UUID) -> int:
    """Extend the leases that have not expired. Returns their number."""
    return Show.objects.owned_by(token).renew()


def release(token: UUID, episode_ids: Collection[str] | None = None) -> None:
    """Release these shows, or all. Another host may continue them at once."""
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
            idle=(show.paused and not show.turns_due) or (show.showcase and not showcase) or show.person_acts,
        )
        for show in _with_wait(_running().owned_by(token)).annotate(person_acts=_PERSON_ACTS)
    ]


def begin_again(episode_id: str) -> ResumedShow:
    """Load the episode after its last turn with its agents.

    Raises:
        Any error that the environment raises when it is created.
    """
    episode = Episode.objects.select_related("show").get(pk=episode_id)
    player_id = episode.seats.exclude(user=None).values_list("user_id", flat=True).first()
    seats = list(episode.seats.select_related("agent").exclude(OF_PEOPLE))
    last = episode.turns.order_by("number").last()
    env = restore(episode)
    if episode.parent_id is not None:
        env.unwrapped.draw_key = draw_key_of(episode)
    return ResumedShow(
        episode=episode,
        env=env,
        agents={seat.number: (seat.agent, seat.set_up) for seat in seats},
        past=_past(episode) if any(seat.agent.kind in KINDS_WITH_HISTORY for seat in seats) else {},
        told={seat.number: told for seat in seats if (told := handovers.unread(episode, seat.number))},
        observation=last.observation if last else episode.first_observation,
        info=last.info if last else episode.first_info,
        owner_id=episode.show.started_by_id or player_id,
    )


@transaction.atomic
def is_due(episode_id: str, token: UUID) -> bool | float:
    """Whether the next turn may be played now, or the seconds to wait. Checked before a slow environment is stepped.

    Raises:
        LeaseLost: the show belongs to another host.
    """
    show, wait = _own(episode_id, token)
    if show.paused and not show.turns_due:
        return False
    if wait <= TOLERANCE_SECONDS and awaited(show.episode, show):
        return CATCH_UP_SECONDS
    return wait if wait > TOLERANCE_SECONDS else True


@transaction.atomic
def take_turn(
    episode_id: str,
    token: UUID,
    env: gem.Env,
    number: int,
    decision: Decision,
    answer: Step | None = None,
    *,
    told: str = "",
) -> Taken | float | None:
    """Record turn `number` if it is due. Returns the turn, the seconds to wait, or None if no turn is to be played.

    With an `answer`, the environment has been stepped already, and the turn is recorded in any case.

    Args:
        told: what the agent has read of people before its observation.

    Raises:
        LeaseLost: the show or the turn belongs to another host.
        ActionTooLong: see `episodes.operations.check_action`.
        EpisodeEnded, EnvironmentFailure: see `episodes.operations.record_turn`.
    """
    operations.check_action(decision.action)
    episode = operations.lock(episode_id)
    show, wait = _own(episode_id, token)
    if episode.turn_count + 1 != number:
        raise LeaseLost(f"Turn {number} of {episode_id} is no longer due.")
    if answer is None and show.paused and not show.turns_due:
        return None
    if answer is None and wait > TOLERANCE_SECONDS:
        return wait
    if answer is None and awaited(episode, show):
        return CATCH_UP_SECONDS
    extra = {**decision.recorded_extra, **({"told": told} if told else {})}
    turn = operations.record_turn(episode, env, decision.action, extra_info=extra, answer=answer)
    if told:
        handovers.note_read(episode, turn)
    if episode.slow:
        pending.accept_held(episode)
    else:
        turn = operations.play_held(episode, env) or turn
    Show.objects.filter(pk=episode_id).update(
        attempt=0,
        turns_due=Greatest(F("turns_due") - 1, 0) if show.paused else 0,
        next_turn_at=Greatest(F("next_turn_at") + timedelta(seconds=show.pace), Now()),
    )
    if episode.over:
        Show.objects.filter(pk=episode_id).release()
    if show.lock_step:
        wake(HOSTS, episode_id)  # other agents may have waited for this turn
    return Taken(turn, episode.over, max(wait + show.pace, 0.0))


def awaited(episode: Episode, show: Show) -> list[Episode]:
    """The episodes of the duel that a show in lock step waits for: those with fewer turns.

    A person always plays a turn first, so that they cannot copy it from an agent's board.
    """
    if not show.lock_step or episode.batch_id is None:
        return []
    others = Episode.objects.running().filter(batch=episode.batch_id).exclude(pk=episode.pk)
    people = Q(seats__agent__kind=Agent.Kind.HUMAN, turn_count=episode.turn_count)
    return list(others.filter(people | Q(turn_count__lt=episode.turn_count)).order_by("slot").distinct())


@transaction.atomic
def rest(episode_id: str, token: UUID, sentence: str) -> None:
    """Pause the show because its agent gave no answer, and store why. Resuming asks the agent again.

    Raises:
        LeaseLost: the show belongs to another host.
    """
    episode = operations.lock(episode_id)
    _own(episode_id, token)
    Show.objects.filter(pk=episode_id).release(paused=True, turns_due=0, attempt=0, trouble=storable(sentence)[:2000])
    operations.touch(episode)


@transaction.atomic
def fail(episode_id: str, token: UUID, sentence: str, *, side: Side = "environment") -> None:
    """End the episode because of a failure (see `episodes.operations.fail`).

    Raises:
        LeaseLost: the show belongs to another host.
    """
    episode = operations.lock(episode_id)
    _own(episode_id, token)
    operations.fail(episode, sentence, side=side)
    Show.objects.filter(pk=episode_id).release()


def _give_up(episode_id: str) -> None:
    with patient_transaction():
        episode = operations.lock(episode_id)
        shows = _running().filter(pk=episode_id).worn().select_for_update()
        if shows.exists() and not episode.over:
            operations.fail(
                episode,
                f"The worker that plays this episode crashed {settings.MAX_ATTEMPTS} times at turn "
                f"{episode.turn_count + 1}. The episode ends here. Its turns are kept.",
            )


def _own(episode_id: str, token: UUID) -> tuple[Show, float]:
    """Lock the show; returns it with the seconds until its next turn is due."""
    show = _with_wait(Show.objects.owned_by(token).select_for_update().filter(pk=episode_id)).first()
    if show is None:
        raise LeaseLost(f"Another host plays {episode_id} now.")
    return show, _seconds(show.wait)


def _with_wait(shows: models.QuerySet[Show]) -> models.QuerySet[Any]:
    """Annotate shows with `wait`, the time until the next turn is due."""
    return shows.annotate(wait=models.ExpressionWrapper(F("next_turn_at") - Now(), models.DurationField()))


def _seconds(wait: timedelta | None) -> float:
    return 0.0 if wait is None else wait.total_seconds()


def _past(episode: Episode) -> dict[int, list[Exchange]]:
    """The earlier turns of each seat, for agents that read the whole episode at every turn."""
    past: dict[int, list[Exchange]] = {}
    observation, info = episode.first_observation, episode.first_info
    for turn in episode.turns.order_by("number"):
        reading, own = observation_for_seat(turn.seat, observation, info)
        told = str((turn.extra or {}).get("told", ""))
        past.setdefault(turn.seat, []).append(Exchange(handovers.before(told, reading), own, turn.action))
        observation, info = turn.observation, turn.info
    return past


def _running() -> LeasedQuerySet[Show]:
    return Show.objects.filter(episode__status=Episode.Status.RUNNING)


def _has_turns_to_play(showcase: bool) -> Q:
    is_playable = (Q(paused=False) | Q(turns_due__gt=0)) & ~Q(_PERSON_ACTS)
    return is_playable if showcase else is_playable & Q(showcase=False)
