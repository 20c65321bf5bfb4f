"""The tree as a drawing, like the map of a metro: across on wide screens, where x is the turn, and down on a phone.

Every branch has a lane. A branch that parts later is nearer to the line that it leaves, so no two lines cross.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from apps.play.tree.reading import Branch, Tree

Direction = Literal["across", "down"]
_Place = Callable[[Branch, float], tuple[float, float]]
"""From a branch and a turn to x and y."""
LEFT, RIGHT, WIDTH = 16.0, 908.0, 1180.0
"""Across: where the first and the last turn are, and the width, of which the rest has the names."""
TOP = 44.0
"""Across: the first lane."""
DOWN_TOP, DOWN_LENGTH, DOWN_TURN = 16.0, 460.0, 27.0
"""Down: where turn 0 is, how long the lines are, and the longest turn."""
LANE, NARROW_LANE, MANY_LANES = 40.0, 24.0, 10
DOWN_LEFT, DOWN_LANE, DOWN_WIDTH = 46.0, 40.0, 362.0
MOST_TICKS = 20
"""Turns that have a number of their own."""
STOPS_FROM = 12.0
"""Turns are drawn as dots if they are so many pixels apart."""
CURVE = 26.0
"""The longest curve from one line to another."""


@dataclass(frozen=True, slots=True)
class Line:
    """A branch as it is drawn."""

    branch: Branch
    path: str
    """The `d` of its path."""
    x: float
    y: float
    """Its end."""
    stops: str
    """The `d` of a path that begins at its first own turn, and that dashes make to dots; empty if they would touch."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A turn with its number, in pixels along the turns."""

    number: int
    at: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """All that a template needs to draw a tree in one direction."""

    direction: Direction
    lines: list[Line]
    ticks: list[Tick]
    rings: list[tuple[float, float]]
    """Where lines part."""
    width: float
    height: float
    first: float
    """Where turn 0 is."""
    step: float
    """The pixels between two turns."""
    is_dense: bool
    """Whether the lanes are near to one another, so that each has one line of text."""


def draw(tree: Tree, direction: Direction) -> Drawing:
    """Lay out the tree."""
    longest = max(1, *(branch.episode.turn_count for branch in tree.branches))
    is_across = direction == "across"
    first = LEFT if is_across else DOWN_TOP
    step = ((RIGHT - LEFT) if is_across else min(DOWN_LENGTH, DOWN_TURN * longest)) / longest
    is_dense = len(tree.branches) > MANY_LANES
    lane = (NARROW_LANE if is_dense else LANE) if is_across else DOWN_LANE
    lanes = {id(branch): number * lane for number, branch in enumerate(tree.branches)}

    def at(branch: Branch, turn: float) -> tuple[float, float]:
        along, beside = first + turn * step, lanes[id(branch)]
        return (along, TOP + beside) if is_across else (DOWN_LEFT + beside, along)

    lines = [_line(branch, at, step, is_across=is_across) for branch in tree.branches]
    breadth = (len(tree.branches) - 1) * lane
    rings = sorted({
        at(branch.line, branch.parts_at) for branch in tree.branches if branch.line is not None
    })  # fmt: skip
    every = max(1, -(-longest // MOST_TICKS))
    return Drawing(
        direction,
        lines,
        [Tick(turn, round(first + turn * step, 1)) for turn in range(0, longest + 1, every)],
        [(round(x, 1), round(y, 1)) for x, y in rings],
        WIDTH if is_across else max(DOWN_WIDTH, DOWN_LEFT + breadth + 36),
        (TOP + breadth if is_across else first + longest * step) + 34,
        first,
        round(step, 4),
        is_dense,
    )


def _line(branch: Branch, at: _Place, step: float, *, is_across: bool) -> Line:
    """The line of a branch: a curve away from the line that it leaves, and then its own turns."""
    last = float(branch.episode.turn_count)
    if branch.line is None:
        (x1, y1), (x2, y2) = at(branch, 0), at(branch, last)
        path, own = f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}", 0
    else:
        curve = max(min(step, CURVE), 8.0) / step  # in turns, so that a curve is neither too steep nor too long
        begins = branch.parts_at + curve
        last = max(last, begins)
        (x0, y0), (x1, y1), (x2, y2) = at(branch.line, branch.parts_at), at(branch, begins), at(branch, last)
        middle = f"{(x0 + x1) / 2:.1f} {y0:.1f} {(x0 + x1) / 2:.1f} {y1:.1f}"
        if not is_across:
            middle = f"{x0:.1f} {(y0 + y1) / 2:.1f} {x1:.1f} {(y0 + y1) / 2:.1f}"
        path = f"M{x0:.1f} {y0:.1f}C{middle} {x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"
        own = branch.parts_at + 1
    stops = ""
    if step >= STOPS_FROM and own < branch.episode.turn_count:
        (x3, y3), (x4, y4) = at(branch, own), at(branch, branch.episode.turn_count - 0.5)
        stops = f"M{x3:.1f} {y3:.1f}L{x4:.1f} {y4:.1f}"
    return Line(branch, path, round(x2, 1), round(y2, 1), stops)
