"""What somebody may see of an episode: from which seat, and what stays hidden while it is sealed.

While an episode with several seats is sealed (`Episode.sealed`), everybody may read the public observations and the
public part of an info. Another seat's action, reasons, reward and what it reads are its own business. So is the seed,
from which everything that is hidden follows. Pages, events and downloads are all made from what `conceal` returns.
"""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from apps.accounts.models import Viewer
from apps.episodes.models import Episode, Seat, Turn
from gem.seats import SPECTATOR

_PUBLIC = ("suffix", "error")
"""The entries of an info that everybody may read."""


def own_seat(episode: Episode, user: Viewer, visitor: str) -> int | None:
    """The number of the seat that this person acts from; None if they have none."""
    seats = episode.seats.select_related("agent").order_by("number")
    return next((seat.number for seat in seats if seat.belongs_to(user, visitor)), None)


def seats_of(user: Viewer, visitor: str) -> QuerySet[Seat]:
    """The seats that this person has or had; a visitor without a key has none."""
    if user.is_authenticated:
        return Seat.objects.filter(user=user)
    return Seat.objects.filter(visitor=visitor, user=None) if visitor else Seat.objects.none()


def viewpoint(episode: Episode, user: Viewer, visitor: str, wanted: str = "") -> int:
    """From where this person sees the episode; `wanted` is heeded once nothing is hidden any longer."""
    if episode.seat_count == 1:
        return 0
    if not episode.sealed and wanted in viewpoints(episode):
        return viewpoints(episode)[wanted]
    own = own_seat(episode, user, visitor)
    if own is not None:
        return own
    return SPECTATOR if episode.sealed else 0


def viewpoints(episode: Episode) -> dict[str, int]:
    """How an address says from where a replay is seen: `?seat=1`; nothing to choose where there is one seat."""
    if episode.seat_count == 1:
        return {}
    return {**{str(number): number for number in range(episode.seat_count)}, "public": SPECTATOR}


def public_viewpoint(episode: Episode) -> int:
    """From where those see it who only watch."""
    return 0 if episode.seat_count == 1 else SPECTATOR


def conceal(turn: Turn, seat: int, *, sealed: bool) -> Turn:
    """The turn as whoever sits in `seat`, or watches, may read it. What may not be read is empty."""
    if not sealed:
        return turn
    seen = Turn(
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
        seen.concealed = True
        seen.action, seen.reward, seen.extra = "", 0.0, None
    return seen


def open_info(info: dict[str, Any], seat: int, *, sealed: bool) -> dict[str, Any]:
    """What whoever sits in `seat`, or watches, may read of an info; None stands for what another seat reads."""
    if not sealed:
        return info
    seen: dict[str, Any] = {name: info[name] for name in _PUBLIC if name in info}
    if seat != SPECTATOR and "seats" in info:
        seen["seats"] = [one if number == seat else None for number, one in enumerate(info["seats"])]
    return seen
