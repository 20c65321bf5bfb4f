"""The overview of an environment in a job with many episodes: the share solved in each of some parts, as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from urllib.parse import quote

from django.db.models import Count, F, Q
from django.utils.safestring import SafeString

from apps.episodes.models import Episode
from apps.jobs.models import Job
from apps.jobs.results.cached import shared
from apps.jobs.results.grid import EnvironmentResults
from apps.seasons.numbers import in_words

MAX_SEGMENTS = 100
"""Segments in the overview of an environment that has more episodes than this."""


def overviews(job: Job, lines: Iterable[EnvironmentResults]) -> dict[int, SafeString]:
    """The overviews of the environments whose grid has several pages, by key; drawn once and shared by requests."""
    surveyed = [line for line in lines if line.tally.total > MAX_SEGMENTS and line.pages > 1]
    if not surveyed:
        return {}
    drawn = shared(job, "overviews", lambda: {line.key: "".join(_segments(job, line)) for line in surveyed})
    return {key: SafeString(segments) for key, segments in drawn.items()}


def _segments(job: Job, line: EnvironmentResults) -> Iterator[str]:
    """The environment's episodes in at most `MAX_SEGMENTS` parts of equal size, each darker the more are solved."""
    size = math.ceil(line.tally.total / MAX_SEGMENTS)
    rows = (
        Episode.objects.filter(
            batch=job.batch_id, slot__gte=line.first_slot, slot__lt=line.first_slot + line.tally.total
        )
        .annotate(part=(F("slot") - line.first_slot) / size)
        .values("part")
        .annotate(n=Count("pk", filter=~Q(status=Episode.Status.FAILED)), won=Count("pk", filter=Q(success=True)))
        .order_by("part")
    )
    for row in rows:
        first = row["part"] * size
        yield _segment(line, first, min(first + size, line.tally.total) - 1, row["won"], row["n"])


def _segment(line: EnvironmentResults, first: int, last: int, won: int, counted: int) -> str:
    """The part from episode `first` to `last`: numbers, our own words, and an id of the registry."""
    share = won / counted if counted else 0.0
    seeds = [in_words(line.place(line.first_slot + index)[0]) for index in (first, last)]
    x, width = 100 * first / line.tally.total, 100 * (last - first + 1) / line.tally.total
    place = f'x="{x:.3f}" y="0" width="{width:.3f}" height="4"'
    return (
        f'<a href="?env_id={quote(line.env_id)}&amp;page={first // line.size + 1}#grid" tabindex="-1">'
        f"<title>Seeds {seeds[0]} to {seeds[1]}: {100 * share:.0f} % of {counted} solved</title>"
        f'<rect class="ground" {place}/><rect class="share" fill-opacity="{0.06 + 0.94 * share:.2f}" {place}/></a>'
    )
