"""The picture of scores against what they took: tokens, money or turns per episode, with the Pareto front."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apps.agents.models import Agent
from apps.leaderboard.models import Score
from gem.evaluation.ranking.pareto import Point, front

HEIGHT = 300
"""The height of the picture in pixels. Horizontal places are shares of its width, so text keeps its size on phones."""
TOP, BOTTOM = 22, 258
LEFT, RIGHT = 8.0, 95.0
"""The axis from the fewest to the most tokens, in percent of the width."""
MIN_NAME_GAP = 15
"""The smallest distance between two names, in pixels."""
MAX_NAMES = 8
"""With more agents than this, only those on the front have names in the picture."""
MAX_LABELS = 4
"""The number of labels on the axis of tokens, about."""


@dataclass(frozen=True, slots=True)
class PlottedScore:
    """An agent in the picture. `x` is in percent of the width; the other places are in pixels from the top."""

    score: Score
    amount: float
    """What it took per episode."""
    leads: bool
    """Whether it is on the front: it is above the random agent, and no other has as high a score for as little."""
    x: float
    y: float
    low_y: float
    high_y: float
    name_y: float
    named: bool

    @property
    def is_right(self) -> bool:
        """Whether its name is to the left of its mark."""
        return self.x > 60


@dataclass(frozen=True, slots=True)
class GridLine:
    """A line of the grid, or of an agent that took nothing, and its label."""

    at: float
    words: str


@dataclass(frozen=True, slots=True)
class Frontier:
    """The picture of a ranking: scores against what they took."""

    points: list[PlottedScore]
    steps: list[tuple[float, float, float, float]]
    """The front as lines: x and y of the start, x and y of the end."""
    levels: list[GridLine]
    amounts: list[GridLine]
    references: list[GridLine]
    free: list[Score]
    """The scores of agents of which nothing was counted."""
    what: str = "tokens"
    floor: float | None = None
    """The place of the random agent's score, below which there is no front."""
    high: int = HEIGHT

    @property
    def below(self) -> float:
        """The height of the ground under that place, on which nothing is better than random."""
        return max(0.0, BOTTOM - (BOTTOM if self.floor is None else self.floor))

    @property
    def leading(self) -> list[PlottedScore]:
        """The agents on the front, from the cheapest to the dearest."""
        return [point for point in self.points if point.leads]


def frontier(scores: Sequence[Score], amounts: Mapping[str, float], what: str = "tokens") -> Frontier:
    """The picture of `scores`, by job with the `amounts` that each took per episode. It has no points without any.

    The score of the random agent is the floor: an agent that is not above it is no front, however cheap it is.
    """
    priced = sorted(
        ((amounts[score.job_id], score) for score in scores if score.job_id in amounts),
        key=lambda pair: (pair[0], -pair[1].mean),
    )
    free = [score for score in scores if score.job_id not in amounts]
    if not priced:
        return Frontier([], [], [], [], [], free, what)
    horizontal = _AmountAxis(priced[0][0], priced[-1][0])
    lows = [_ends(score)[0] for _, score in priced] + [score.mean for score in free]
    vertical = _ScoreAxis(min([0.0, *lows]), max([1.0, *(_ends(score)[1] for _, score in priced)]))
    floor = floor_of(scores)
    front_flags = leading([(amount, score.mean) for amount, score in priced], floor)
    ys = [vertical.at(score.mean) for _, score in priced]
    named = [len(priced) <= MAX_NAMES or is_on_front for is_on_front in front_flags]
    name_ys = _place_names(ys, named)
    points = [
        PlottedScore(
            score,
            amount,
            is_on_front,
            horizontal.at(amount),
            y,
            vertical.at(_ends(score)[0]),
            vertical.at(_ends(score)[1]),
            name_y,
            is_named,
        )
        for (amount, score), is_on_front, y, name_y, is_named in zip(
            priced, front_flags, ys, name_ys, named, strict=True
        )
    ]
    references = [
        GridLine(vertical.at(score.mean), f"{score.agent.name}, no {what}")
        for score in free
        if score.agent.kind in (Agent.Kind.RANDOM, Agent.Kind.EXPERT, Agent.Kind.HUMAN)
    ]
    on_front = [point for point in points if point.leads]
    steps = list(_steps(on_front)) if on_front else []
    return Frontier(points, steps, vertical.marks, horizontal.marks, references, free, what, vertical.at(floor))


def floor_of(scores: Sequence[Score]) -> float:
    """The score that is no better than random: 0, or the end of the interval of the random agent's own row."""
    own = (_ends(score)[1] for score in scores if score.agent.kind == Agent.Kind.RANDOM)
    return max(0.0, next(own, 0.0))


def _ends(score: Score) -> tuple[float, float]:
    """The ends of the line of a score: without an interval none is drawn."""
    return (score.mean, score.mean) if score.low is None or score.high is None else (score.low, score.high)


def leading(points: Sequence[tuple[float, float]], floor: float = -math.inf) -> list[bool]:
    """Whether each point of an amount and a score is on the front."""
    named = [Point(str(number), amount, score) for number, (amount, score) in enumerate(points)]
    found = {point.name for point in front(named, floor)}
    return [point.name in found for point in named]


def _steps(front: Sequence[PlottedScore]) -> Iterator[tuple[float, float, float, float]]:
    """The lines of the front: level until the next agent with a higher score, and finally to the right edge."""
    yield front[0].x, BOTTOM, front[0].x, front[0].y
    for point, following in zip(front, [*front[1:], None], strict=True):
        if following is None:
            yield point.x, point.y, RIGHT, point.y
        else:
            yield point.x, point.y, following.x, point.y
            yield following.x, point.y, following.x, following.y


def _place_names(ys: Sequence[float], named: Sequence[bool]) -> list[float]:
    """The vertical places of the names: beside their marks, and without overlaps."""
    name_ys, last = list(ys), -math.inf
    for index in sorted((i for i, is_named in enumerate(named) if is_named), key=lambda i: ys[i]):
        name_ys[index] = last = max(ys[index], last + MIN_NAME_GAP)
    overflow = max(0.0, last - (BOTTOM - 4)) if last > -math.inf else 0.0
    return [y - overflow if is_named and y > BOTTOM / 2 else y for y, is_named in zip(name_ys, named, strict=True)]


class _AmountAxis:
    """The logarithmic axis of amounts. Its ends are 1 or 3 times a power of ten."""

    def __init__(self, lowest: float, highest: float) -> None:
        ticks = [step * 10.0**power for power in range(-8, 10) for step in (1, 3)]
        low = max((tick for tick in ticks if tick <= lowest), default=ticks[0])
        high = next((tick for tick in ticks if tick > max(highest, low)), ticks[-1])
        self._low, self._high = math.log(low), math.log(high)
        ticks_in_range = [tick for tick in ticks if low <= tick <= high]
        stride = max(1, math.ceil(len(ticks_in_range) / MAX_LABELS))
        self.marks = [GridLine(self.at(tick), _in_words(tick)) for tick in ticks_in_range[::stride]]

    def at(self, amount: float) -> float:
        """The place of an amount, in percent of the width."""
        share = (math.log(max(amount, 1e-8)) - self._low) / (self._high - self._low)
        return round(LEFT + (RIGHT - LEFT) * min(1.0, max(0.0, share)), 2)


def _in_words(tick: float) -> str:
    """`3,000` or `0.003`."""
    return f"{tick:,.8f}".rstrip("0").rstrip(".")


class _ScoreAxis:
    """The axis of scores. Its lines are 0.25 apart, or more on a long axis."""

    def __init__(self, low: float, high: float) -> None:
        step = next(size for size in (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, math.inf) if (high - low) / size <= 6)
        self._low, self._high = low, high
        first, last = (math.ceil(low / step), math.floor(high / step)) if math.isfinite(step) else (0, 0)
        self.marks = [GridLine(self.at(n * step), f"{n * step:g}".replace("-", "−")) for n in range(first, last + 1)]

    def at(self, score: float) -> float:
        """The place of a score, in pixels from the top."""
        return round(BOTTOM - (BOTTOM - TOP) * (score - self._low) / (self._high - self._low), 1)
