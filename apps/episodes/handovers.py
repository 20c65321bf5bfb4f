"""What a person leaves for an agent whose seat they had: how it reads, and what it has not read yet."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet

from apps.episodes.models import Episode, Handover, Turn
from apps.episodes.operations import BY_PERSON


def before(told: str, reading: str) -> str:
    """What an agent reads: what people have left for it, and then the observation."""
    return f"{told}\n\n{reading}" if told else reading


def unread(episode: Episode, seat: int) -> str:
    """The notes that the agent in this seat has not read yet, as it will read them; empty if there are none."""
    if not episode.taken_over:
        return ""
    notes = list(_unread(episode, seat))
    return "\n\n".join(in_words(episode, note) for note in notes)


def note_read(episode: Episode, turn: Turn) -> None:
    """Record that the agent has read its notes before this turn."""
    _unread(episode, turn.seat).update(read_in=turn.number)


def in_words(episode: Episode, note: Handover) -> str:
    """A note as the agent reads it, marked as from a person."""
    return f"[From a person who {_held(episode, note)}] {note.text}"


def _held(episode: Episode, note: Handover) -> str:
    """Which turns the person of a note had."""
    taken = episode.handovers.filter(kind=Handover.Kind.TAKEN, seat=note.seat, seq__lte=note.seq).last()
    first = taken.after + 1 if taken is not None else note.after + 1
    played = episode.turns.filter(number__gte=first, seat=note.seat, extra__by=BY_PERSON).order_by("number")
    numbers = list(played.filter(number__lte=note.after).values_list("number", flat=True))
    if not numbers:
        return f"took your seat before turn {first}"
    if len(numbers) == 1:
        return f"held your seat for turn {numbers[0]}"
    return f"held your seat for turns {numbers[0]} to {numbers[-1]}"


def _unread(episode: Episode, seat: int) -> QuerySet[Handover]:
    return Handover.objects.filter(episode=episode, seat=seat, kind=Handover.Kind.NOTE, read_in=None)


def shown(episode: Episode, viewpoint: int, *, sealed: bool) -> list[Handover]:
    """All events of taken seats in order. A note may tell a secret of its seat, so others do not read it before."""
    if not episode.taken_over:
        return []
    found = list(episode.handovers.all())
    for handover in found:
        if sealed and handover.seat != viewpoint:
            handover.text = ""
    return found


def lines_of(episode: Episode, turns: Sequence[Turn], viewpoint: int, *, sealed: bool) -> list[Turn | Handover]:
    """These turns, newest first, with what happened to the seat between them."""
    first = turns[-1].number if turns else 0
    between = [each for each in shown(episode, viewpoint, sealed=sealed) if each.after >= first - 1]
    if not between:
        return list(turns)
    placed: list[tuple[tuple[int, int, int], Turn | Handover]] = [((turn.number, 0, 0), turn) for turn in turns]
    placed += [((each.after, 1, each.pk), each) for each in between]
    return [line for _, line in sorted(placed, key=lambda pair: pair[0], reverse=True)]


def data_of(episode: Episode, viewpoint: int, *, sealed: bool) -> list[dict[str, object]]:
    """The events of taken seats as a record has them."""
    return [
        {
            "seat": each.seat,
            "kind": each.kind,
            "after": each.after,
            "text": each.text,
            "read_in": each.read_in,
            "created": each.created,
        }
        for each in shown(episode, viewpoint, sealed=sealed)
    ]
