"""The share of solved episodes as a job went on: a curve with its interval, over the episodes that count.

Environments have the same weight at every point, as in the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import add, itemgetter
from typing import NamedTuple

from django.db import connection

from apps.jobs.models import Job
from gem.evaluation.intervals import MIN_SEEDS, Z95, Interval, student_quantile, wilson

MAX_POINTS = 60
WIDTH, HEIGHT = 720, 150
MIN_EPISODES = 2
"""With fewer there is no curve."""

_IN_PARTS = """
SELECT part, env_id, count(*), count(*) FILTER (WHERE success), count(*) FILTER (WHERE is_first) FROM (
    SELECT (row_number() OVER (ORDER BY ended, slot) - 1) * %(points)s / greatest(count(*) OVER (), %(points)s) AS part,
           env_id, success, row_number() OVER (PARTITION BY env_id, seed ORDER BY ended, slot) = 1 AS is_first
    FROM episodes_episode WHERE batch_id = %(batch)s AND slot IS NOT NULL AND status = 'ended'
) episode GROUP BY part, env_id ORDER BY part
"""


class EnvironmentSums(NamedTuple):
    """What has ended in an environment so far."""

    episodes: int
    solved: int
    seeds: int


@dataclass(frozen=True, slots=True)
class Point:
    """The results after some of the episodes."""

    episodes: int
    share: Interval
    """The share of them that were solved."""
    seeds: float
    """The seeds behind its interval, of which there is none below `MIN_SEEDS`, as everywhere."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The points of a curve, and its lines in a picture of `WIDTH` by `HEIGHT`."""

    points: list[Point]
    planned: int

    @property
    def last(self) -> Point:
        """What is known now."""
        return self.points[-1]

    @property
    def line(self) -> str:
        """The path of the share."""
        return "M" + " L".join(self._at(point, point.share.mean) for point in self.points)

    @property
    def band(self) -> str:
        """The outline of the interval; empty while there is none."""
        points = [point for point in self.points if point.seeds >= MIN_SEEDS]
        above = [self._at(point, point.share.high) for point in points]
        below = [self._at(point, point.share.low) for point in reversed(points)]
        return "M" + " L".join([*above, *below]) + " Z" if points else ""

    @property
    def end(self) -> tuple[float, float]:
        """Where the line ends."""
        x, y = self._at(self.last, self.last.share.mean).split()
        return float(x), float(y)

    def _at(self, point: Point, share: float) -> str:
        return f"{WIDTH * point.episodes / max(self.planned, self.last.episodes):.1f} {HEIGHT * (1 - share):.1f}"


def curve(job: Job) -> Curve | None:
    """The curve of a job, over its episodes in the order in which they ended; None with too few of them."""
    with connection.cursor() as cursor:
        cursor.execute(_IN_PARTS, {"points": MAX_POINTS, "batch": job.batch_id})
        parts = cursor.fetchall()
    points: list[Point] = []
    sums: dict[str, EnvironmentSums] = {}
    for _, rows in groupby(parts, key=itemgetter(0)):
        for _, env_id, *more in rows:
            before = sums.get(env_id, (0, 0, 0))
            sums[env_id] = EnvironmentSums(*map(add, before, more))
        so_far = list(sums.values())
        points.append(Point(sum(row.episodes for row in so_far), share_so_far(so_far), seeds_of(so_far)))
    return Curve(points, job.episodes_total) if points and points[-1].episodes >= MIN_EPISODES else None


def share_so_far(sums: Sequence[EnvironmentSums]) -> Interval:
    """The share of solved episodes with its 95 % interval. All tries at a seed count as one observation.

    It is the mean over environments. The interval is Wilson's with the quantile of Student's t-distribution, as in the
    result, of `seeds_of` seeds.
    """
    share = sum(row.solved / row.episodes for row in sums) / len(sums)
    seeds = seeds_of(sums)
    effective = max(1.0, seeds * (Z95 / student_quantile(max(1.0, seeds - 1))) ** 2)
    return wilson(share * effective, effective)


def seeds_of(sums: Sequence[EnvironmentSums]) -> float:
    """As many seeds as would have the variance of the mean over environments, if all seeds varied alike.

    With as many in each environment, it is their number.
    """
    return float(len(sums) ** 2 / sum(1 / row.seeds for row in sums))
