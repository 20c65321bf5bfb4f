"""How the returns, lengths, tokens and answer times of a job's episodes are distributed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from django.contrib.postgres.fields import ArrayField
from django.db.models import Aggregate, Count, F, FloatField, Max, Min, Q, QuerySet
from django.db.models.functions import Cast, Floor, Least

from apps.episodes.models import Episode
from apps.jobs.models import Job

BINS = 16
"""Bars of a picture. Whole numbers may have fewer."""


class Quantiles(Aggregate):
    """The median and the ninth decile: the values at or below which half and nine tenths of all are."""

    function = "PERCENTILE_DISC"
    template = "%(function)s(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = ArrayField(FloatField())


@dataclass(frozen=True, slots=True)
class Metric:
    """Something that is measured in every episode."""

    name: Literal["return", "turns", "tokens", "answer_seconds"]
    title: str
    unit: str
    expression: Any
    is_whole: bool
    decimals: int


METRICS = (
    Metric("return", "Return", "each episode", F("seats__total_reward"), is_whole=False, decimals=2),
    Metric("turns", "Turns", "each episode", F("turn_count"), is_whole=True, decimals=0),
    Metric("tokens", "Tokens", "each episode", F("tokens_in") + F("tokens_out"), is_whole=True, decimals=0),
    Metric(
        "answer_seconds", "Time to answer", "mean of each episode, s", F("answer_seconds"), is_whole=False, decimals=2
    ),
)


@dataclass(frozen=True, slots=True)
class Bin:
    """The episodes with a value from `low` to below `high`; in the last bin, up to `high`."""

    low: float
    high: float
    episodes: int
    solved: int
    x: float
    """Where its bar starts, in percent of the width."""
    width: float
    height: float
    """The height of its bar, in percent of that of the highest."""
    solved_height: float

    @property
    def top(self) -> float:
        """Where its bar starts from above."""
        return 100 - self.height

    @property
    def solved_top(self) -> float:
        """Where the part of the solved episodes starts from above. It is at the bottom."""
        return 100 - self.solved_height


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution of one metric."""

    metric: Metric
    episodes: int
    low: float
    high: float
    median: float
    ninth_decile: float
    bins: list[Bin]

    @property
    def words(self) -> str:
        """What its picture says to those who do not see it."""
        low, high, median = (f"{value:,.{self.metric.decimals}f}" for value in (self.low, self.high, self.median))
        return f"{self.metric.title} of {self.episodes:,} episodes: {low} to {high}, median {median}"


def distributions(job: Job, env_id: str = "") -> list[Distribution]:
    """The distributions of all metrics that were measured, over the episodes that count.

    Tokens are left out if no agent counted any, and answer times if no agent measured them.

    Args:
        env_id: only episodes of this environment; empty for all.
    """
    episodes = Episode.objects.filter(batch=job.batch_id, status=Episode.Status.ENDED, seats__number=F("scored_seat"))
    if env_id:
        episodes = episodes.filter(env_id=env_id)
    found = (_distribution(metric, episodes) for metric in METRICS)
    return [distribution for distribution in found if distribution is not None]


def _distribution(metric: Metric, episodes: QuerySet[Episode]) -> Distribution | None:
    values = episodes.annotate(value=Cast(metric.expression, FloatField()))
    summary = values.aggregate(n=Count("value"), low=Min("value"), high=Max("value"), quantiles=Quantiles("value"))
    if not summary["n"] or (metric.name == "tokens" and not summary["high"]):
        return None
    start, width, count = _scale(metric, summary["low"], summary["high"])
    rows = (
        values.filter(value__isnull=False)
        .annotate(bin=Least(Floor((F("value") - start) / width), float(count - 1)))
        .order_by()
        .values("bin")
        .annotate(n=Count("pk"), solved=Count("pk", filter=Q(success=True)))
        .values_list("bin", "n", "solved")
    )
    median, ninth_decile = summary["quantiles"]
    counts = {max(0, int(number)): (n, solved) for number, n, solved in rows}
    return Distribution(
        metric, summary["n"], summary["low"], summary["high"], median, ninth_decile,
        _bins(counts, start, width, count),
    )  # fmt: skip


def _scale(metric: Metric, low: float, high: float) -> tuple[float, float, int]:
    """The start of the first bin, the width of each, and their number."""
    if metric.is_whole:
        width = max(1, math.ceil((high - low + 1) / BINS))
        return low, float(width), math.ceil((high - low + 1) / width)
    if metric.name == "return" and low >= 0 and high <= 1:
        low, high = 0.0, 1.0  # returns between 0 and 1 keep the axis from 0 to 1
    elif high <= low:
        low, high = low - 0.5, high + 0.5
    return low, (high - low) / BINS, BINS


def _bins(counts: Mapping[int, tuple[int, int]], start: float, width: float, count: int) -> list[Bin]:
    highest = max(n for n, _ in counts.values())
    step = 100 / count
    bins = []
    for number in range(count):
        n, solved = counts.get(number, (0, 0))
        low, high = start + number * width, start + (number + 1) * width
        bins.append(
            Bin(
                low,
                high,
                n,
                solved,
                number * step + step * 0.06,
                step * 0.88,
                100 * n / highest,
                100 * solved / highest,
            )
        )
    return bins
