"""What a job refuses, each with the sentence that its user reads."""

from __future__ import annotations


class JobRefusal(Exception):
    """Something was asked for that cannot be; `str(refusal)` says what, and what to do instead."""


class UnknownAgent(JobRefusal):
    """There is no such agent, or it belongs to somebody else."""


class NoExpert(JobRefusal):
    """The expert has no solver for one of the environments."""


class TooManyJobs(JobRefusal):
    """The owner has as many waiting jobs as one person may have."""


class TooManyEpisodes(JobRefusal):
    """The job is larger than one job may be."""


class OldBenchmark(JobRefusal):
    """The request names a version of its benchmark that is no longer ranked."""


class NotYours(JobRefusal):
    """Only the owner and staff may change a job."""
