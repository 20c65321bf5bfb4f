"""Errors of requests about jobs. Their messages are sentences for users."""

from __future__ import annotations


class JobRefusal(Exception):
    """A request that cannot be fulfilled. The message says why, and what to do instead."""


class UnknownAgent(JobRefusal):
    """There is no such agent, or it belongs to somebody else."""


class NoExpert(JobRefusal):
    """The expert has no solver for one of the environments."""


class NoLimits(JobRefusal):
    """A budget cannot be kept, because answers of an agent have no limit or no price."""


class TooManyJobs(JobRefusal):
    """The owner has as many queued jobs as one person may have."""


class TooManyEpisodes(JobRefusal):
    """The job is larger than one job may be."""


class OldBenchmark(JobRefusal):
    """The request names a version of its benchmark that is no longer ranked."""


class NotYours(JobRefusal):
    """Only the owner and staff may change a job."""
