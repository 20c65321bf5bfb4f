"""Icons, pieces, marks and intervals as HTML. Templates have them as tags: see `apps.site.templatetags.ui`."""

from __future__ import annotations

import functools
import math
from typing import Protocol

from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

MINUS = "\u2212"
NO_BREAK = "\u00a0"
"""The space between a number and its unit, at which no line breaks."""


class Stone(Protocol):
    """The attributes of an agent that its mark shows."""

    @property
    def name(self) -> str:
        """The agent's name."""

    @property
    def kind(self) -> str:
        """What kind of agent it is, which the shape stands for."""

    @property
    def colour(self) -> int:
        """The number of its colour."""

    @property
    def cut(self) -> str:
        """The name of its shape."""


@functools.cache
def _sprite() -> str:
    """The address of the sprite, which holds all icons."""
    return static("icons.svg")


def icon(name: str) -> SafeString:
    """A decorative icon from the sprite: `{% icon "play" %}`."""
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>', _sprite(), name)


def piece(name: str) -> SafeString:
    """A piece on a board: `{% piece "flag" %}` (player, box, target, flag, mine)."""
    return format_html('<svg aria-hidden="true"><use href="{}#p-{}"/></svg>', _sprite(), name)


def gem() -> SafeString:
    """The logo of gemweb."""
    return format_html('<svg class="gem" aria-hidden="true"><use href="{}#gem"/></svg>', _sprite())


def cut(agent: Stone, size: str = "") -> SafeString:
    """The stone of an agent: its shape stands for the kind, its colour for the agent. Show the name next to it."""
    return format_html(
        '<svg class="cut" data-c="{}"{} role="img" aria-label="{}"><use href="{}#{}"/></svg>',
        agent.colour,
        format_html(' data-size="{}"', size) if size else "",
        agent.kind,
        _sprite(),
        agent.cut,
    )


def agent_mark(agent: Stone, note: str = "") -> SafeString:
    """An agent's stone and name: `{% agent_mark agent %}`, with a quiet note after the name if given."""
    small = format_html(" <small>{}</small>", note) if note else ""
    return format_html('<span class="agent">{}<span>{}{}</span></span>', cut(agent), agent.name, small)


def interval(mean: float, low: float, high: float, start: float = 0.0, end: float = 1.0, colour: int = 8) -> SafeString:
    """A mean and its interval drawn on a scale from `start` to `end`: `{% interval mean low high 0 1 agent.colour %}`.

    Values beyond the scale are drawn at its ends; the label shows the exact numbers.
    """

    def at(value: float) -> str:
        return place((value - start) / (end - start) if end > start else 0.5)

    zero = f'<line class="zero" x1="{at(0.0)}" x2="{at(0.0)}" y1="10%" y2="90%"/>' if start < 0.0 < end else ""
    return SafeString(  # numbers alone
        f'<svg class="interval" data-c="{colour:d}" role="img"'
        f' aria-label="{number(mean, 2)}, 95 % interval {number(low, 2)} to {number(high, 2)}">'
        f'<line class="track" x1="0" x2="100%" y1="50%" y2="50%"/>{zero}'
        f'<line class="range" x1="{at(low)}" x2="{at(high)}" y1="50%" y2="50%"/>'
        f'<circle class="mean" cx="{at(mean)}" cy="50%" r="4"/></svg>'
    )


def number(value: float | None, places: int = 3) -> str:
    """A number with a real minus sign and at most `places` digits after the point; a dash for None."""
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{abs(value):,.{places}f}"
    is_zero = float(text.replace(",", "")) == 0
    return f"{MINUS if value < 0 and not is_zero else ''}{text}"


def place(share: float) -> str:
    """The position of a share (0 to 1) on an axis, as a CSS percentage: `12.5%`."""
    return f"{100 * min(1.0, max(0.0, share)):.1f}%"
