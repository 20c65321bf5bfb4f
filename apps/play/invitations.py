"""The link to a free seat: whoever gets it may sit down, and nobody else can make one."""

from __future__ import annotations

from django.core.signing import Signer
from django.urls import reverse
from django.utils.crypto import constant_time_compare

from apps.episodes.models import Seat

_SIGNER = Signer(salt="play.seat")


def address(seat: Seat) -> str:
    """The path of the link to this seat."""
    return reverse("play:join", args=[seat.episode_id, seat.number, _signature(seat.episode_id, seat.number)])


def holds(episode_id: str, number: int, signature: str) -> bool:
    """Whether we gave this link out."""
    return constant_time_compare(signature, _signature(episode_id, number))


def _signature(episode_id: str, number: int) -> str:
    return _SIGNER.signature(f"{episode_id}:{number}")
