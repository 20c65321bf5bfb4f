"""The results of a job so far."""

from apps.jobs.results.grid import (
    OUTCOME,
    WORDS,
    EnvironmentResults,
    EpisodeCell,
    Segment,
    fill,
    lines,
)
from apps.jobs.results.pass_rates import passes
from apps.jobs.results.returns import Bar, Histogram, histogram
from apps.jobs.results.tallies import Tally

__all__ = [
    "OUTCOME",
    "WORDS",
    "Bar",
    "EnvironmentResults",
    "EpisodeCell",
    "Histogram",
    "Segment",
    "Tally",
    "fill",
    "histogram",
    "lines",
    "passes",
]
