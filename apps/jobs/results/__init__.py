"""The results of a job so far."""

from apps.jobs.results.grid import (
    OUTCOME,
    WORDS,
    EnvironmentResults,
    EpisodeCell,
    UnderWay,
    fill,
    lines,
    under_way,
)
from apps.jobs.results.overview import overviews
from apps.jobs.results.pass_rates import passes
from apps.jobs.results.returns import Bar, Histogram, histogram
from apps.jobs.results.tallies import Tally, skipped, skipped_tallies, tallies_of

__all__ = [
    "OUTCOME",
    "WORDS",
    "Bar",
    "EnvironmentResults",
    "EpisodeCell",
    "Histogram",
    "Tally",
    "UnderWay",
    "fill",
    "histogram",
    "lines",
    "overviews",
    "passes",
    "skipped",
    "skipped_tallies",
    "tallies_of",
    "under_way",
]
