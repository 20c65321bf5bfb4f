"""Errors of requests about jobs. Their messages are sentences for users."""

from __future__ import annotations


class JobRefusal(Exception):
    """A request that cannot be fulfilled. The message says why, and what to do instead."""


class UnknownAgent(JobRefusal):
    """There is no such agent, or it belongs to somebody else."""


class NoExpert(JobRefusal):
    """The expert has no solver for one of the environments."""


class TooManyJobs(JobRefusal):
    """The owner has as many queued jobs as one person may have."""


class TooManyEpisodes(JobRefusal):
    """The job is larger than one job may be."""


class OldBenchmark(JobRefusal):
    """The request names a version of its benchmark that is no longer ranked."""


class Ranked(JobRefusal):
    """The results of the job count on the leaderboard, so it is played as it was submitted."""


class CannotChange(JobRefusal):
    """The job, or what is to be changed of it, is not in a state that allows this."""


class NotYours(JobRefusal):
    """Only the owner and staff may change a job."""
