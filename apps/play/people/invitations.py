"""Signed links to free seats: whoever has the link may take the seat, and nobody can forge one."""

from __future__ import annotations

from django.core.signing import Signer
from django.urls import reverse
from django.utils.crypto import constant_time_compare

from apps.episodes.models import Seat

_SIGNER = Signer(salt="play.seat")
NO_LINK = "This is not a valid link to a seat. Perhaps only part of it was copied."


def address(seat: Seat) -> str:
    """The path of the link to this seat."""
    return reverse("play:join", args=[seat.episode_id, seat.number, _signature(seat.episode_id, seat.number)])


def holds(episode_id: str, number: int, signature: str) -> bool:
    """Whether the signature of this link is valid."""
    return constant_time_compare(signature, _signature(episode_id, number))


def _signature(episode_id: str, number: int) -> str:
    return _SIGNER.signature(f"{episode_id}:{number}")
