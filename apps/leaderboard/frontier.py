"""Scores against tokens per episode, with the Pareto front."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import F, Sum

from apps.agents.models import Agent
from apps.jobs.models import Shard
from apps.leaderboard.models import Score

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


def tokens_per_episode(scores: Sequence[Score], env_id: str = "") -> dict[str, float]:
    """Prompt and completion tokens per episode, by the job of each score. Jobs without tokens are left out."""
    shards = Shard.objects.filter(job__in=[score.job_id for score in scores], **({"env_id": env_id} if env_id else {}))
    sums = shards.values("job").annotate(tokens=Sum(F("tokens_in") + F("tokens_out")), episodes=Sum("done"))
    return {row["job"]: row["tokens"] / row["episodes"] for row in sums if row["tokens"] and row["episodes"]}


@dataclass(frozen=True, slots=True)
class PlottedScore:
    """An agent in the picture. `x` is in percent of the width; the other places are in pixels from the top."""

    score: Score
    tokens: float
    leads: bool
    """Whether it is on the front: no other agent has as high a score with as few tokens."""
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
    """A line of the grid, or of an agent without tokens, and its label."""

    at: float
    words: str


@dataclass(frozen=True, slots=True)
class Frontier:
    """The picture of a ranking: scores against tokens."""

    points: list[PlottedScore]
    steps: list[tuple[float, float, float, float]]
    """The front as lines: x and y of the start, x and y of the end."""
    levels: list[GridLine]
    amounts: list[GridLine]
    references: list[GridLine]
    free: list[Score]
    """The scores of agents that report no tokens."""
    high: int = HEIGHT

    @property
    def leading(self) -> list[PlottedScore]:
        """The agents on the front, from the fewest tokens to the most."""
        return [point for point in self.points if point.leads]


def frontier(scores: Sequence[Score], tokens: Mapping[str, float]) -> Frontier:
    """The picture of `scores`, whose jobs used `tokens` per episode. It has no points if no agent reports tokens."""
    priced = sorted(
        ((tokens[score.job_id], score) for score in scores if score.job_id in tokens),
        key=lambda pair: (pair[0], -pair[1].mean),
    )
    free = [score for score in scores if score.job_id not in tokens]
    if not priced:
        return Frontier([], [], [], [], [], free)
    horizontal = _TokenAxis(priced[0][0], priced[-1][0])
    lows = [_ends(score)[0] for _, score in priced] + [score.mean for score in free]
    vertical = _ScoreAxis(min([0.0, *lows]), max([1.0, *(_ends(score)[1] for _, score in priced)]))
    front_flags = leading([(amount, score.mean) for amount, score in priced])
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
        GridLine(vertical.at(score.mean), f"{score.agent.name}, no tokens")
        for score in free
        if score.agent.kind in (Agent.Kind.RANDOM, Agent.Kind.EXPERT, Agent.Kind.HUMAN)
    ]
    front = [point for point in points if point.leads]
    return Frontier(points, list(_steps(front)), vertical.marks, horizontal.marks, references, free)


def _ends(score: Score) -> tuple[float, float]:
    """The ends of the line of a score: without an interval none is drawn."""
    return (score.mean, score.mean) if score.low is None or score.high is None else (score.low, score.high)


def leading(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Whether each (tokens, score) is on the front. They are sorted by tokens, then from the highest score down."""
    best, flags = -math.inf, []
    for _, score in points:
        flags.append(score > best)
        best = max(best, score)
    return flags


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


class _TokenAxis:
    """The logarithmic axis of tokens. Its ends are 1 or 3 times a power of ten."""

    def __init__(self, lowest: float, highest: float) -> None:
        ticks = [step * 10**power for power in range(10) for step in (1, 3)]
        low = max((tick for tick in ticks if tick <= lowest), default=1)
        high = next((tick for tick in ticks if tick > max(highest, low)), ticks[-1])
        self._low, self._high = math.log(low), math.log(high)
        ticks_in_range = [tick for tick in ticks if low <= tick <= high]
        stride = max(1, math.ceil(len(ticks_in_range) / MAX_LABELS))
        self.marks = [GridLine(self.at(tick), f"{tick:,}") for tick in ticks_in_range[::stride]]

    def at(self, amount: float) -> float:
        """The place of a number of tokens, in percent of the width."""
        share = (math.log(max(amount, 1.0)) - self._low) / (self._high - self._low)
        return round(LEFT + (RIGHT - LEFT) * min(1.0, max(0.0, share)), 2)


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
