"""Template tags for the pages of people who play: `{% load play %}`."""

from __future__ import annotations

from django import template

from apps.episodes.models import Seat
from apps.play import invitations

register = template.Library()


@register.simple_tag
def seat_link(seat: Seat) -> str:
    """The path of the link to a free seat: `{% seat_link shot.free as link %}`."""
    return invitations.address(seat)
