"""Turns that people take in slow environments: accepted here, played by a worker, recorded once.

A worker owns a pending turn while its lease lasts, by the database's clock, steps the environment outside any
transaction, and records the answer only if it still owns the turn. A worker that dies or hangs has written nothing,
so another one plays the turn from the same state. What cannot be played is said on the page, and nothing is lost.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q

import gem
from apps.episodes import operations
from apps.episodes.errors import Refusal, TurnTaken
from apps.episodes.models import Episode, PendingTurn, Seat, Turn
from apps.episodes.restore import restore
from apps.episodes.text import shortened, storable, what_was_replaced
from apps.leases import LeasedQuerySet, LeaseLost
from apps.live import wake
from apps.play.shows import operations as shows
from gem.core import Step

logger = logging.getLogger(__name__)

PROBLEM_CHARS = 1000


class TooManyTurns(Refusal):
    """The person waits for as many turns as one person may have under way."""

    status = 429
    title = "Too many turns at once"


@dataclass(frozen=True, slots=True)
class Claimed:
    """A pending turn with what a worker needs to play it."""

    episode: Episode
    env: gem.Env
    number: int
    action: str
    replaced: str


# ---------------------------------------------------------------- people


def accept(episode: Episode, seat: Seat, action: str) -> Episode:
    """Note that `action` is to be played; the caller's transaction holds the episode locked.

    Raises:
        TurnTaken: another one is under way.
        TooManyTurns: nothing was accepted.
    """
    refuse_while_underway(episode)
    _check_number(seat)
    PendingTurn.objects.filter(episode=episode).delete()
    PendingTurn.objects.create(
        episode=episode,
        number=episode.turn_count + 1,
        seat=seat.number,
        action=storable(action),
        replaced=what_was_replaced(action),
    )
    wake(shows.HOSTS, episode.id)
    return operations.touch(episode)


def refuse_while_underway(episode: Episode) -> None:
    """Raise TurnTaken if a worker plays a turn of this episode, or will in a moment."""
    underway = PendingTurn.objects.filter(episode=episode, problem="").first()
    if underway is not None:
        raise TurnTaken(
            f"Turn {underway.number} is still being played. Nothing was changed. Wait until the turn is done."
        )


def _check_number(seat: Seat) -> None:
    theirs = Q(episode__seats__user=seat.user_id) if seat.user_id else Q(episode__seats__visitor=seat.visitor)
    if PendingTurn.objects.filter(theirs, problem="").count() >= settings.SHOWS_PER_PERSON:
        raise TooManyTurns(
            f"{settings.SHOWS_PER_PERSON} of your turns are still being played, which is the limit for one person. "
            "This turn was not accepted. Send it again when another one is done."
        )


# ---------------------------------------------------------------- workers


def claim(token: UUID, most: int) -> list[str]:
    """Own up to `most` turns that wait for a worker, the oldest first; one whose workers keep dying is refused."""
    waiting = PendingTurn.objects.filter(problem="")
    for turn in waiting.worn()[:most]:
        _give_up(turn.episode_id)
    return waiting.claimable().order_by("created").claim(token, most)


def renew(token: UUID) -> int:
    """Prolong the leases that have not run out; returns how many."""
    return _owned(token).renew()


def release(token: UUID) -> None:
    """Let go of all turns of this worker; another one may play them at once."""
    PendingTurn.objects.filter(lease_token=token).release(attempt=0)


def begin(episode_id: str, token: UUID) -> Claimed:
    """What is to be played, in the environment as it is now.

    Raises:
        LeaseLost: the turn belongs to another worker, or to nobody.
        Outdated: as `episodes.restore.restore`.
    """
    turn = _owned(token).select_related("episode").filter(pk=episode_id).first()
    if turn is None:
        raise LeaseLost(f"The turn of {episode_id} is not to be played here any longer.")
    return Claimed(turn.episode, restore(turn.episode), turn.number, turn.action, turn.replaced)


@transaction.atomic
def finish(claimed: Claimed, token: UUID, answer: Step) -> Turn:
    """Record what the environment answered.

    Raises:
        LeaseLost: another worker has the turn, or it is no longer wanted; nothing was written.
    """
    episode = operations.lock(claimed.episode.id)
    own = _owned(token).select_for_update().filter(pk=episode.pk, number=claimed.number).first()
    if own is None or episode.over or episode.turn_count + 1 != claimed.number:
        raise LeaseLost(f"Turn {claimed.number} of {episode.id} is not to be played here any longer.")
    own.delete()
    extra = {"replaced": claimed.replaced} if claimed.replaced else None
    turn = operations.record_turn(episode, claimed.env, claimed.action, answer=answer, extra_info=extra)
    operations.play_held(episode, claimed.env)
    shows.answer(episode)
    return turn


@transaction.atomic
def refuse(episode_id: str, token: UUID, sentence: str) -> None:
    """Say on the page why the turn was not played; its player may send it again.

    Raises:
        LeaseLost: another worker has the turn.
    """
    episode = operations.lock(episode_id)
    if not _refused(_owned(token).filter(pk=episode_id), sentence):
        raise LeaseLost(f"The turn of {episode_id} is not to be played here any longer.")
    operations.touch(episode)


@transaction.atomic
def _give_up(episode_id: str) -> None:
    episode = operations.lock(episode_id)
    worn = PendingTurn.objects.filter(pk=episode_id, problem="").worn()
    sentence = f"The worker that played it crashed {settings.MAX_ATTEMPTS} times."
    if _refused(worn, sentence):
        operations.touch(episode)


def _refused(turns: LeasedQuerySet[PendingTurn], sentence: str) -> int:
    problem = shortened(storable(sentence), PROBLEM_CHARS)
    return turns.release(problem=problem, attempt=0)


def _owned(token: UUID) -> LeasedQuerySet[PendingTurn]:
    return PendingTurn.objects.filter(problem="").owned_by(token)
