"""What the page of a tree says of a branch: `{% load forks %}`."""

from __future__ import annotations

from django import template

from apps.agents.models import Agent
from apps.episodes.templatetags.episodes import outcome_parts
from apps.play.tree.reading import Branch

register = template.Library()


@register.filter
def unlocalized(value: float) -> str:
    """A number as SVG reads it."""
    return f"{value:g}"


@register.filter
def add_px(value: float, more: int) -> str:
    """A coordinate some pixels further."""
    return f"{value + more:g}"


@register.filter
def named(branch: Branch) -> str:
    """Who plays in a branch, in all seats."""
    names = ["a person" if seat.agent.kind == Agent.Kind.HUMAN else seat.agent.name for seat in branch.seats]
    return " and ".join(names)


@register.filter
def began(branch: Branch) -> str:
    """Where a branch began and how it ended, in a few words."""
    words = outcome_parts(branch.episode)[2].split(",")[0].lower()
    return f"the first, {words}" if branch.parent is None else f"from turn {branch.fork_turn}, {words}"


@register.filter
def earned(branch: Branch) -> str:
    """The return of each seat; empty while it is hidden."""
    return " / ".join(f"{value:.2f}" for value in branch.returns).replace("-", "\N{MINUS SIGN}")


@register.filter
def in_words(branch: Branch) -> str:
    """All that the drawing says of a branch."""
    turns = branch.episode.turn_count
    return (
        f"{named(branch)}, {began(branch)}, return {earned(branch) or 'hidden'}, "
        f"{turns} turn{'' if turns == 1 else 's'}"
    )
