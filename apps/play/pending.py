"""Turns of people in slow environments: accepted here, played by a worker, recorded exactly once.

A worker owns a pending turn while its lease lasts, by the database's clock. It steps the environment outside any
transaction and records the answer only if it still owns the turn. A worker that dies or hangs has written nothing, so
another one plays the turn from the same state. If a turn cannot be played, the page says why, and nothing is lost.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

import gem
from apps.accounts import quotas
from apps.admission.counting import one_at_a_time
from apps.admission.line import Line, note_spent, rows
from apps.admission.models import name_of
from apps.episodes import operations
from apps.episodes.errors import Refusal, TurnTaken
from apps.episodes.models import Episode, PendingTurn, Seat, Turn
from apps.episodes.restore import restore
from apps.episodes.text import shortened, storable, what_was_replaced
from apps.leases import LeasedQuerySet, LeaseLost, RowsLocked, patient_transaction
from apps.live import wake
from apps.play.shows import operations as shows
from gem.core import Step

logger = logging.getLogger(__name__)

PROBLEM_CHARS = 1000
PEOPLE_PER_ADDRESS = 8
"""How many people without an account at one IP address may have as many waiting turns as one person may have."""


class TooManyTurns(Refusal):
    """The person, or their IP address, has as many pending turns as it may have."""

    status = 429
    title = "Too many turns at once"


@dataclass(frozen=True, slots=True)
class ClaimedTurn:
    """A pending turn with everything that a worker needs to play it."""

    episode: Episode
    env: gem.Env
    number: int
    action: str
    replaced: str
    owner_id: int | None
    """Whose CPU seconds it uses; None for a visitor."""
    person: str
    address: str


# ---------------------------------------------------------------- people


def accept(episode: Episode, seat: Seat, action: str, address: str = "") -> Episode:
    """Store `action` as a pending turn. The caller's transaction holds the episode locked.

    Args:
        address: the hashed IP address of a person without an account (`accounts.visitors.address`).

    Raises:
        TurnTaken: another turn of this episode is pending.
        TooManyTurns: the person or the address has too many pending turns.
    """
    refuse_while_underway(episode)
    _check_limit(seat, address)
    _store(episode, seat, action, address)
    return operations.touch(episode)


def accept_held(episode: Episode) -> None:
    """After a turn, store the held action whose turn has come as a pending turn. The caller has locked the episode."""
    seat = None if episode.over else episode.seats.exclude(held="").filter(number=episode.acting).first()
    if seat is not None:
        episode.seats.filter(number=seat.number).update(held="")
        _store(episode, seat, seat.held, seat.held_address)


def _store(episode: Episode, seat: Seat, action: str, address: str = "") -> None:
    PendingTurn.objects.filter(episode=episode).delete()
    PendingTurn.objects.create(
        episode=episode,
        number=episode.turn_count + 1,
        seat=seat.number,
        action=storable(action),
        replaced=what_was_replaced(action),
        person=name_of(seat.user_id, seat.visitor),
        address=address,
    )
    wake(shows.HOSTS, episode.id)


def refuse_while_underway(episode: Episode) -> None:
    """Raise TurnTaken if a turn of this episode is pending."""
    underway = PendingTurn.objects.filter(episode=episode, problem="").first()
    if underway is not None:
        raise TurnTaken(
            f"Turn {underway.number} is still being played. Nothing was changed. Wait until the turn is done."
        )


def _check_limit(seat: Seat, address: str) -> None:
    underway, most = PendingTurn.objects.filter(problem=""), settings.TURNS_WAITING_PER_PERSON
    person = name_of(seat.user_id, seat.visitor)
    one_at_a_time("turns", person)
    one_at_a_time("turns", address)
    if underway.filter(person=person).count() >= most:
        raise TooManyTurns(
            f"{most} of your turns are still being played, which is the limit for one person. "
            "This turn was not accepted. Send it again when another one is done."
        )
    most *= PEOPLE_PER_ADDRESS
    if address and underway.filter(address=address).count() >= most:
        raise TooManyTurns(
            f"{most} turns of visitors at your IP address are still being played, which is the limit for one address. "
            "This turn was not accepted. Send it again in a moment, or log in."
        )
    if seat.user and (problem := quotas.refusal(seat.user, quotas.CPU_SECONDS, 0)):
        raise TooManyTurns(problem)


# ---------------------------------------------------------------- workers


def claim(token: UUID, limit: int) -> list[str]:
    """Claim up to `limit` pending turns, of each person in turn. A turn whose workers keep dying is refused."""
    if not waiting().exists():  # hosts look every second
        return []
    for turn in waiting().worn()[:limit]:
        with suppress(RowsLocked):  # the next sweep tries again
            _give_up(turn.episode_id)
    return _line().claim(_rows(waiting().claimable()), _busy(), token, limit)


def waiting() -> LeasedQuerySet[PendingTurn]:
    """The turns that wait for a worker."""
    return PendingTurn.objects.filter(problem="").free()


def place(episode_id: str) -> int | None:
    """The place of this episode's turn in the queue, from 1; None if no turn of it waits for a worker."""
    return _line().place(_rows(waiting()), _busy(), episode_id)


def _line() -> Line:
    return Line("turn", settings.TURNS_PER_PERSON, settings.TURNS_PER_ADDRESS)


def _rows(turns: LeasedQuerySet[PendingTurn]) -> LeasedQuerySet[PendingTurn]:
    return rows(turns, since="created")


def _busy() -> LeasedQuerySet[PendingTurn]:
    """The turns that workers play now."""
    return _rows(PendingTurn.objects.filter(problem="", lease_until__gt=Now()))


def renew(token: UUID) -> int:
    """Extend the leases that have not expired. Returns their number."""
    return _owned(token).renew()


def release(token: UUID) -> None:
    """Release all turns of this worker, so that another worker may play them at once."""
    PendingTurn.objects.filter(lease_token=token).release(attempt=0)


def begin(episode_id: str, token: UUID) -> ClaimedTurn:
    """The claimed turn with its environment after the last turn.

    Raises:
        LeaseLost: the turn belongs to another worker, or to nobody.
        Outdated: see `episodes.restore.restore`.
    """
    turn = _owned(token).select_related("episode").filter(pk=episode_id).first()
    if turn is None:
        raise LeaseLost(f"This worker no longer owns the turn of {episode_id}.")
    owner_id = turn.episode.seats.values_list("user_id", flat=True).get(number=turn.seat)
    env = restore(turn.episode)
    return ClaimedTurn(turn.episode, env, turn.number, turn.action, turn.replaced, owner_id, turn.person, turn.address)


@transaction.atomic
def finish(claim: ClaimedTurn, token: UUID, answer: Step) -> Turn:
    """Record the environment's answer to the turn.

    Raises:
        LeaseLost: another worker has the turn, or it is no longer needed; nothing was written.
    """
    episode = operations.lock(claim.episode.id)
    pending_turn = _owned(token).select_for_update().filter(pk=episode.pk, number=claim.number).first()
    if pending_turn is None or episode.over or episode.turn_count + 1 != claim.number:
        raise LeaseLost(f"This worker no longer owns turn {claim.number} of {episode.id}.")
    pending_turn.delete()
    extra = {"replaced": claim.replaced} if claim.replaced else None
    turn = operations.record_turn(episode, claim.env, claim.action, answer=answer, extra_info=extra)
    accept_held(episode)
    shows.answer(episode)
    return turn


@transaction.atomic
def refuse(episode_id: str, token: UUID, sentence: str) -> None:
    """Store why the turn was not played, for the page. Its player may send it again.

    Raises:
        LeaseLost: another worker has the turn.
    """
    episode = operations.lock(episode_id)
    if not _set_problem(_owned(token).filter(pk=episode_id), sentence):
        raise LeaseLost(f"This worker no longer owns the turn of {episode_id}.")
    operations.touch(episode)


def note_time(claim: ClaimedTurn, seconds: float) -> None:
    """Note for how long a worker was busy with a turn, so that the turns of others are next."""
    note_spent(_line().name, claim.person, claim.address, seconds)


def _give_up(episode_id: str) -> None:
    with patient_transaction():
        episode = operations.lock(episode_id)
        worn = PendingTurn.objects.filter(pk=episode_id, problem="").worn()
        sentence = f"The worker that played it crashed {settings.MAX_ATTEMPTS} times."
        if _set_problem(worn, sentence):
            operations.touch(episode)


def _set_problem(turns: LeasedQuerySet[PendingTurn], sentence: str) -> int:
    problem = shortened(storable(sentence), PROBLEM_CHARS)
    return turns.release(problem=problem, attempt=0)


def _owned(token: UUID) -> LeasedQuerySet[PendingTurn]:
    return PendingTurn.objects.filter(problem="").owned_by(token)
