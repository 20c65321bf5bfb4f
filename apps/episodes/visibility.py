"""What a person may see of an episode: from which viewpoint, and what is hidden while it is sealed.

While an episode with several seats is sealed (`Episode.sealed`), everybody may read the public observations and the
public part of an info. The action, reasoning, reward and private observation of another seat are hidden, and so is the
seed, which would reveal everything. Pages, events and downloads are all made from what `conceal` returns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.episodes.models import Episode, EpisodeQuerySet, Seat, Turn
from apps.visibility import Visibility
from gem.seats import SPECTATOR

_PUBLIC = ("suffix", "error")
"""The entries of an info that everybody may read."""


def own_seat(episode: Episode, user: Viewer, visitor: str, seats: Iterable[Seat] | None = None) -> int | None:
    """The number of this person's seat; None if they have none. `seats` are those of the episode, if they are known."""
    if seats is None:
        seats = episode.seats.select_related("agent").order_by("number")
    return next((seat.number for seat in seats if seat.belongs_to(user, visitor)), None)


def parent_of(episode: Episode, user: Viewer, visitor: str) -> Episode | None:
    """The episode that this one was forked from, if this person may see it."""
    if episode.parent_id is None:
        return None
    return Episode.objects.visible_to(user, visitor).filter(pk=episode.parent_id).first()


def branches_of(episode: Episode, user: Viewer, visitor: str) -> EpisodeQuerySet:
    """The episodes that were forked from this one, as far as lists show them to this person."""
    return Episode.objects.listed_for(user, visitor).filter(parent=episode)


def choices_of(episode: Episode, user: Viewer, visitor: str) -> list[Visibility]:
    """The visibilities that this person may give the episode; none if it is not theirs, or follows a job or a duel.

    If another person plays too, an episode can only be closed further: neither opens it without the other.
    """
    if episode.in_job or episode.in_duel:
        return []
    if not Episode.objects.owned(user, visitor).filter(pk=episode.pk).exists():
        return []
    people = [seat for seat in episode.seats.select_related("agent") if seat.agent.kind == Agent.Kind.HUMAN]
    if all(seat.belongs_to(user, visitor) for seat in people):
        return list(Visibility)
    return list(Visibility)[list(Visibility).index(Visibility(episode.visibility)) :]


def seats_of(user: Viewer, visitor: str) -> QuerySet[Seat]:
    """The seats that this person has or had; a visitor without a key has none."""
    if user.is_authenticated:
        return Seat.objects.filter(user=user)
    return Seat.objects.filter(visitor=visitor, user=None) if visitor else Seat.objects.none()


def viewpoint(
    episode: Episode, user: Viewer, visitor: str, requested: str = "", *, seats: Iterable[Seat] | None = None
) -> int:
    """The viewpoint of this person. `requested` counts only when nothing is hidden any more; `seats` as `own_seat`."""
    if episode.seat_count == 1:
        return 0
    if not episode.sealed and requested in viewpoints(episode):
        return viewpoints(episode)[requested]
    own = own_seat(episode, user, visitor, seats)
    if own is not None:
        return own
    return SPECTATOR if episode.sealed else 0


def viewpoints(episode: Episode) -> dict[str, int]:
    """The viewpoints of a replay by their names in an address (`?seat=1`); empty if there is only one seat."""
    if episode.seat_count == 1:
        return {}
    return {**{str(number): number for number in range(episode.seat_count)}, "public": SPECTATOR}


def public_viewpoint(episode: Episode) -> int:
    """The viewpoint of spectators."""
    return 0 if episode.seat_count == 1 else SPECTATOR


def conceal(turn: Turn, seat: int, *, sealed: bool) -> Turn:
    """The turn as `seat` (or a spectator) may see it. Hidden parts are empty."""
    if not sealed:
        return turn
    visible_turn = Turn(
        episode_id=turn.episode_id,
        number=turn.number,
        seat=turn.seat,
        action=turn.action,
        observation=turn.observation,
        reward=turn.reward,
        info=open_info(turn.info, seat, sealed=True),
        extra=turn.extra,
        seq=turn.seq,
        created=turn.created,
    )
    if turn.seat != seat:
        visible_turn.concealed = True
        visible_turn.action, visible_turn.reward, visible_turn.extra = "", 0.0, None
    return visible_turn


def open_info(info: dict[str, Any], seat: int, *, sealed: bool) -> dict[str, Any]:
    """The part of an info that `seat` (or a spectator) may see. None replaces the entries of other seats."""
    if not sealed:
        return info
    visible_info: dict[str, Any] = {name: info[name] for name in _PUBLIC if name in info}
    if seat != SPECTATOR and "seats" in info:
        visible_info["seats"] = [
            seat_info if number == seat else None for number, seat_info in enumerate(info["seats"])
        ]
    return visible_info
