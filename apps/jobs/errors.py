"""What a job refuses, each with the sentence that its user reads."""

from __future__ import annotations


class Refusal(Exception):
    """Something was asked for that cannot be; `str(refusal)` says what, and what to do instead."""


class UnknownAgent(Refusal):
    """There is no such agent, or it belongs to somebody else."""


class NoExpert(Refusal):
    """The expert has no solver for one of the environments."""


class TooManyJobs(Refusal):
    """The owner has as many waiting jobs as one person may have."""


class TooManyEpisodes(Refusal):
    """The job is larger than one job may be."""


class OldBenchmark(Refusal):
    """The request names a version of its benchmark that is no longer ranked."""


class NotYours(Refusal):
    """Only the owner and staff may change a job."""
