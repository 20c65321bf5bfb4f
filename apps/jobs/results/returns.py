"""The distribution of a job's returns, as a picture."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, F, Q

from apps.episodes.models import Episode, Seat
from apps.jobs.models import Job

BINS = 20
WIDTH, HEIGHT = 720, 150


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of the histogram, in a picture of `WIDTH` by `HEIGHT`. The solved part is at the bottom."""

    x: float
    y: float
    width: float
    height: float
    solved_y: float
    solved_height: float
    words: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """The number of episodes by return, and how many of them were solved."""

    bars: list[Bar]
    low: float
    high: float
    most: int


def histogram(job: Job) -> Histogram | None:
    """The returns of the episodes so far; None while there are none."""
    rows = list(
        Seat.objects.filter(episode__batch=job.batch_id, episode__status=Episode.Status.ENDED)
        .filter(number=F("episode__scored_seat"))
        .values("total_reward")
        .annotate(n=Count("episode"), won=Count("episode", filter=Q(episode__success=True)))
        .order_by("total_reward")
    )
    if not rows:
        return None
    low, high = rows[0]["total_reward"], rows[-1]["total_reward"]
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0  # returns between 0 and 1 keep the axis from 0 to 1
    if high <= low:
        low, high = low - 0.5, high + 0.5
    counts = [[0, 0] for _ in range(BINS)]
    for row in rows:
        bin_index = min(BINS - 1, int((row["total_reward"] - low) / (high - low) * BINS))
        counts[bin_index][0] += row["n"]
        counts[bin_index][1] += row["won"]
    max_count = max(n for n, _ in counts)
    bin_width = (high - low) / BINS
    bars = []
    for bin_index, (n, won) in enumerate(counts):
        height, solved = HEIGHT * n / max_count, HEIGHT * won / max_count
        start = low + bin_index * bin_width
        words = f"Return {start:.2f} to {start + bin_width:.2f}: {n:,} episodes, {won:,} solved".replace("-", "\u2212")
        x = WIDTH * bin_index / BINS + 2
        bars.append(Bar(x, HEIGHT - height, WIDTH / BINS - 4, height, HEIGHT - solved, solved, words))
    return Histogram(bars, low, high, max_count)
