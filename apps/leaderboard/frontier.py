"""What a score costs: agents by their tokens per episode, and those that nobody beats at their price."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import F, Sum

from apps.agents.models import Agent
from apps.jobs.models import Shard
from apps.leaderboard.models import Score

HIGH = 300
"""The picture's height in pixels. Across, its places are shares of its width: lettering stays the same on a phone."""
TOP, BOTTOM = 22, 258
LEFT, RIGHT = 8.0, 95.0
"""The axis from the fewest to the most tokens, in percent of the width."""
GAP = 15
"""Pixels between two names, at least."""
NAMES = 8
"""Names in the picture; of more agents only those on the front are named."""
LABELS = 4
"""Labels on the axis of tokens, about."""


def tokens_per_episode(scores: Sequence[Score], env_id: str = "") -> dict[str, float]:
    """Tokens in and out for each episode of the scores' jobs, by job; jobs without any are left out."""
    shards = Shard.objects.filter(job__in=[score.job_id for score in scores], **({"env_id": env_id} if env_id else {}))
    sums = shards.values("job").annotate(tokens=Sum(F("tokens_in") + F("tokens_out")), episodes=Sum("done"))
    return {row["job"]: row["tokens"] / row["episodes"] for row in sums if row["tokens"] and row["episodes"]}


@dataclass(frozen=True, slots=True)
class PlottedScore:
    """An agent in the picture; `x` in percent, the others in pixels from the top."""

    score: Score
    tokens: float
    leads: bool
    """No other agent reaches as much with as few tokens."""
    x: float
    y: float
    low_y: float
    high_y: float
    name_y: float
    named: bool

    @property
    def is_right(self) -> bool:
        """Whether its name stands to its left."""
        return self.x > 60


@dataclass(frozen=True, slots=True)
class GridLine:
    """A line of the grid, or one that stands for an agent without tokens, and its words."""

    at: float
    words: str


@dataclass(frozen=True, slots=True)
class Frontier:
    """The picture of a ranking by tokens."""

    points: list[PlottedScore]
    steps: list[tuple[float, float, float, float]]
    """The front as lines: x, y to x, y."""
    levels: list[GridLine]
    amounts: list[GridLine]
    references: list[GridLine]
    free: list[Score]
    """Those that report no tokens."""
    high: int = HIGH

    @property
    def leading(self) -> list[PlottedScore]:
        """The front, from the fewest tokens to the most."""
        return [point for point in self.points if point.leads]


def frontier(scores: Sequence[Score], tokens: Mapping[str, float]) -> Frontier:
    """The picture of `scores` whose jobs took `tokens` per episode; without points if none reports any."""
    priced = sorted(
        ((tokens[score.job_id], score) for score in scores if score.job_id in tokens),
        key=lambda pair: (pair[0], -pair[1].mean),
    )
    free = [score for score in scores if score.job_id not in tokens]
    if not priced:
        return Frontier([], [], [], [], [], free)
    across = _Across(priced[0][0], priced[-1][0])
    lows = [score.low for _, score in priced] + [score.mean for score in free]
    up = _Up(min([0.0, *lows]), max([1.0, *(score.high for _, score in priced)]))
    leads = leading([(amount, score.mean) for amount, score in priced])
    shown = [up.at(score.mean) for _, score in priced]
    named = [len(priced) <= NAMES or leading_one for leading_one in leads]
    name_ys = _apart(shown, named)
    points = [
        PlottedScore(score, amount, led, across.at(amount), y, up.at(score.low), up.at(score.high), name_y, is_named)
        for (amount, score), led, y, name_y, is_named in zip(priced, leads, shown, name_ys, named, strict=True)
    ]
    references = [
        GridLine(up.at(score.mean), f"{score.agent.name}, no tokens")
        for score in free
        if score.agent.kind in (Agent.Kind.RANDOM, Agent.Kind.EXPERT, Agent.Kind.HUMAN)
    ]
    front = [point for point in points if point.leads]
    return Frontier(points, list(_steps(front)), up.marks, across.marks, references, free)


def leading(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Which (tokens, score), in order of their tokens and then from the best score down, are on the front."""
    best, found = -math.inf, []
    for _, score in points:
        found.append(score > best)
        best = max(best, score)
    return found


def _steps(front: Sequence[PlottedScore]) -> Iterator[tuple[float, float, float, float]]:
    """A stair: level until the next agent reaches more, and on to the edge."""
    yield front[0].x, BOTTOM, front[0].x, front[0].y
    for here, there in zip(front, [*front[1:], None], strict=True):
        if there is None:
            yield here.x, here.y, RIGHT, here.y
        else:
            yield here.x, here.y, there.x, here.y
            yield there.x, here.y, there.x, there.y


def _apart(ys: Sequence[float], named: Sequence[bool]) -> list[float]:
    """Where the names stand: beside their marks, but never on one another."""
    found, last = list(ys), -math.inf
    for index in sorted((i for i, is_named in enumerate(named) if is_named), key=lambda i: ys[i]):
        found[index] = last = max(ys[index], last + GAP)
    over = max(0.0, last - (BOTTOM - 4)) if last > -math.inf else 0.0
    return [y - over if is_named and y > BOTTOM / 2 else y for y, is_named in zip(found, named, strict=True)]


class _Across:
    """The axis of tokens, logarithmic, from 1 or 3 times a power of ten to another."""

    def __init__(self, least: float, most: float) -> None:
        ticks = [step * 10**power for power in range(10) for step in (1, 3)]
        low = max((tick for tick in ticks if tick <= least), default=1)
        high = next((tick for tick in ticks if tick > max(most, low)), ticks[-1])
        self._low, self._high = math.log(low), math.log(high)
        between = [tick for tick in ticks if low <= tick <= high]
        stride = max(1, math.ceil(len(between) / LABELS))
        self.marks = [GridLine(self.at(tick), f"{tick:,}") for tick in between[::stride]]

    def at(self, amount: float) -> float:
        """Its place in percent of the width."""
        share = (math.log(max(amount, 1.0)) - self._low) / (self._high - self._low)
        return round(LEFT + (RIGHT - LEFT) * min(1.0, max(0.0, share)), 2)


class _Up:
    """The axis of scores; its lines are a quarter apart, or a half where it is long."""

    def __init__(self, low: float, high: float) -> None:
        step = next(size for size in (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, math.inf) if (high - low) / size <= 6)
        self._low, self._high = low, high
        first, last = (math.ceil(low / step), math.floor(high / step)) if math.isfinite(step) else (0, 0)
        self.marks = [GridLine(self.at(n * step), f"{n * step:g}".replace("-", "−")) for n in range(first, last + 1)]

    def at(self, score: float) -> float:
        """Its place in pixels from the top."""
        return round(BOTTOM - (BOTTOM - TOP) * (score - self._low) / (self._high - self._low), 1)
