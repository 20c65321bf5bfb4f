"""Taking the seat of an agent that plays live, leaving it a note, and handing back.

Whoever may control a show may take a seat in it. While they have it, the agent waits, and their turns are marked. Such
an episode is kept and shown like others, but counts in no ranking or rating.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now

from apps.accounts.models import User, Viewer
from apps.agents.models import Agent
from apps.episodes import operations
from apps.episodes.errors import EpisodeEnded, NotFound, NotYourTurn, Refusal, Sealed, SeatTaken
from apps.episodes.models import MAX_NOTE, Episode, Handover, Seat
from apps.episodes.text import storable
from apps.live import wake
from apps.play import pending
from apps.play.models import Show
from apps.play.shows import operations as shows

MOST_NOTES = 20
"""Notes in one episode."""


class NoteRefused(Refusal):
    """A note is empty or too long, or there are too many."""

    title = "This note was not left"


@transaction.atomic
def take(episode_id: str, number: int | None, *, user: Viewer, visitor: str) -> Episode:
    """Take a seat of a show from its agent; without a number, the seat to act. The agent waits until `hand_back`.

    Callers have checked that this person may control the show (`shows.may_control`).

    Raises:
        NotFound, EpisodeEnded: there is no such running show or seat.
        SeatTaken: somebody has it, or this person has another seat, or plays against a person.
        Sealed: the episode is ranked.
    """
    episode = operations.lock(episode_id)
    if not Show.objects.select_for_update().filter(pk=episode_id).exists():
        raise NotFound("No agent is playing this episode live, so there is no seat to take.")
    if episode.over:
        raise EpisodeEnded("The agent has finished. You can fork the episode and play on from any of its turns.")
    if episode.closed:
        raise Sealed("This episode is ranked, so nobody takes a seat in it. Start one of your own, or wait.")
    number = episode.acting if number is None else number
    seats = list(episode.seats.select_related("agent").select_for_update(of=("self",)).order_by("number"))
    if not 0 <= number < len(seats):
        raise NotFound(f"The episode has seats 1 to {len(seats)}; there is no seat {number + 1}.")
    if seats[number].belongs_to(user, visitor):
        return episode
    if any(seat.is_persons for seat in seats):
        raise SeatTaken(
            "A person has a seat in this episode already. Watch them, or fork the episode and play on by yourself."
        )
    pending.refuse_while_underway(episode)
    account = user if isinstance(user, User) else None
    episode.seats.filter(number=number).update(user=account, visitor="" if account else visitor)
    episode.taken_over = True
    episode.save(update_fields=["taken_over"])
    Show.objects.filter(pk=episode_id).release(attempt=0, trouble="", turns_due=0)
    _note(episode, number, Handover.Kind.TAKEN, account, visitor)
    wake(shows.HOSTS, episode_id)
    return operations.touch(episode)


@transaction.atomic
def leave_note(episode_id: str, text: str, *, user: Viewer, visitor: str) -> Episode:
    """Leave a note that the agent reads before its next observation; one that waits already is not left again.

    Raises:
        NotFound, EpisodeEnded, NotYourTurn, NoteRefused: nothing was left.
    """
    episode, seat = _held(episode_id, user, visitor)
    text = " ".join(storable(text).split())
    if not text:
        raise NoteRefused("The note is empty. Write what the agent should know.")
    if len(text) > MAX_NOTE:
        raise NoteRefused(f"A note can have {MAX_NOTE} characters; this one has {len(text):,}. Shorten it.")
    notes = episode.handovers.filter(kind=Handover.Kind.NOTE)
    if notes.filter(seat=seat.number, after=episode.turn_count, read_in=None, text=text).exists():
        return episode
    if notes.count() >= MOST_NOTES:
        raise NoteRefused(f"An episode can have {MOST_NOTES} notes, and this one has reached that limit.")
    _note(episode, seat.number, Handover.Kind.NOTE, seat.user, seat.visitor, text)
    return operations.touch(episode)


def hand_back(episode_id: str, note: str = "", *, user: Viewer, visitor: str) -> Episode:
    """Give the seat back to its agent, which goes on at the show's pace, with a last note if there is one.

    Raises:
        NotFound, EpisodeEnded, NotYourTurn, NoteRefused: see `leave_note`.
        CannotPlay: the agent does not play any longer. The person keeps the seat.
        TurnTaken: a turn of theirs is being played.
    """
    shows.check_again(episode_id, user)
    with transaction.atomic():
        if note.strip():
            leave_note(episode_id, note, user=user, visitor=visitor)
        episode, seat = _held(episode_id, user, visitor)
        pending.refuse_while_underway(episode)
        episode.seats.filter(number=seat.number).update(user=None, visitor="", held="")
        Show.objects.filter(pk=episode_id).release(attempt=0, paused=False, turns_due=0, trouble="", next_turn_at=Now())
        _note(episode, seat.number, Handover.Kind.RETURNED, seat.user, seat.visitor)
        wake(shows.HOSTS, episode_id)
        return operations.touch(episode)


def _held(episode_id: str, user: Viewer, visitor: str) -> tuple[Episode, Seat]:
    """The episode, locked, and the seat in it that this person has taken from an agent."""
    episode = operations.lock(episode_id)
    if episode.over:
        raise EpisodeEnded("The episode ended while you had the seat. The replay shows every turn.")
    for seat in episode.seats.select_related("agent", "user").order_by("number"):
        if seat.agent.kind != Agent.Kind.HUMAN and seat.belongs_to(user, visitor):
            return episode, seat
    raise NotYourTurn("You have not taken a seat in this episode, so there is nothing to hand back.")


def _note(episode: Episode, seat: int, kind: Handover.Kind, user: User | None, visitor: str, text: str = "") -> None:
    Handover.objects.create(
        episode=episode,
        seat=seat,
        kind=kind,
        after=episode.turn_count,
        text=text,
        user=user,
        visitor="" if user else visitor,
        seq=episode.seq + 1,  # `touch` raises it
    )
