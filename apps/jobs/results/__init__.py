"""The results of a job so far."""

from apps.jobs.results.grid import (
    OUTCOME,
    WORDS,
    EnvironmentResults,
    EpisodeCell,
    Segment,
    UnderWay,
    fill,
    lines,
    under_way,
)
from apps.jobs.results.pass_rates import passes
from apps.jobs.results.returns import Bar, Histogram, histogram
from apps.jobs.results.tallies import Tally, skipped, skipped_tallies

__all__ = [
    "OUTCOME",
    "WORDS",
    "Bar",
    "EnvironmentResults",
    "EpisodeCell",
    "Histogram",
    "Segment",
    "Tally",
    "UnderWay",
    "fill",
    "histogram",
    "lines",
    "passes",
    "skipped",
    "skipped_tallies",
    "under_way",
]
