"""The Pareto front: the points that no other point beats in score at the same or a lower cost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Point(NamedTuple):
    """An agent with its cost (tokens, money or turns) and its score."""

    name: str
    cost: float
    score: float


def front(points: Iterable[Point], floor: float = 0.0) -> list[Point]:
    """Return the points of the front by rising cost. Points of equal cost and score are all on it.

    Args:
        floor: the score of the random agent; a point that is not above it is no front, however cheap it is.
    """
    found: list[Point] = []
    for point in sorted(points, key=lambda one: (one.cost, -one.score, one.name)):
        if point.score <= floor:
            continue
        if not found or point.score > found[-1].score or point[1:] == found[-1][1:]:
            found.append(point)
    return found
