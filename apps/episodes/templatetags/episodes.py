"""How actions, keys and outcomes of episodes are written on pages: `{% load episodes %}`."""

from __future__ import annotations

import re

from django import template

from apps.episodes.models import Episode
from gem.views import View

register = template.Library()

_BOXED = re.compile(r"\\boxed\{(.*?)\}", re.DOTALL)
_KEYS = {"ArrowUp": "↑", "ArrowDown": "↓", "ArrowLeft": "←", "ArrowRight": "→", " ": "space"}

STATES = {
    Episode.Outcome.WON: ("win", "check", "Solved"),
    Episode.Outcome.LOST: ("loss", "cross", "Not solved"),
    Episode.Outcome.LIMIT: ("warn", "limit", "Turn limit"),
    Episode.Outcome.ERROR: ("muted", "warn", "Environment error, not counted"),
    Episode.Outcome.ABANDONED: ("muted", "stop", "Abandoned"),
    Episode.Outcome.RUNNING: ("live", "play", "Running"),
}
"""Outcome to tone, icon and words."""


@register.filter
def bare(action: str) -> str:
    r"""The action inside its box, `reveal 7 2` of `\boxed{reveal 7 2}`; other text as it is, on one line."""
    boxes = _BOXED.findall(action)
    return " ".join((boxes[-1] if boxes else action).split())


@register.filter
def begins(hint: str | None, part: str) -> bool:
    """Whether this is the first pick of a hint: `3 1` of the action `3 1 4`."""
    return bare(hint or "").startswith(f"{part} ")


@register.filter
def ends(hint: str | None, part: str) -> bool:
    """Whether this is the last pick of a hint: `7 4` of the action `7 1 7 4`."""
    return bare(hint or "").endswith(f" {part}")


@register.filter
def keycap(key: str) -> str:
    """What is printed on a key: `↑` for `ArrowUp`."""
    return _KEYS.get(key, key.upper() if len(key) == 1 else key)


@register.filter
def board_template(view: View) -> str:
    """The template that draws a view of this kind."""
    return f"boards/{view['kind']}.html"


@register.inclusion_tag("episodes/state.html")
def outcome(episode: Episode) -> dict[str, str]:
    """How an episode ended, as a glyph and words: `{% outcome episode %}`."""
    tone, glyph, words = STATES[Episode.Outcome(episode.outcome)]
    return {"tone": tone, "glyph": glyph, "words": words}
