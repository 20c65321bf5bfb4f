"""Errors of requests about jobs. Their messages are sentences for users."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gem.registry import unregistered


class JobRefusal(Exception):
    """A request that cannot be fulfilled. The message says why, and what to do instead."""

    field = ""
    """The field of the request that has to change; empty if it is none of them."""

    def __init__(self, sentence: str, field: str = "") -> None:
        super().__init__(sentence)
        self.field = field or self.field

    @property
    def all(self) -> Sequence[JobRefusal]:
        """Every reason; a refusal with one reason is its own."""
        return (self,)


class UnknownAgent(JobRefusal):
    """There is no such agent, or it belongs to somebody else."""

    field = "agent"


class NoExpert(JobRefusal):
    """The expert has no solver for one of the environments."""

    field = "agent"


class NoLimits(JobRefusal):
    """A budget cannot be kept, because answers of an agent have no limit or no price."""


class CannotDecide(JobRefusal):
    """The job cannot be compared with the one that it shall stop by."""

    field = "stop_against"


class TooManyJobs(JobRefusal):
    """The owner has as many queued jobs as one person may have."""


class TooManyEpisodes(JobRefusal):
    """The job is larger than one job may be."""

    field = "episodes_per_env"


class OldBenchmark(JobRefusal):
    """The request names a version of its benchmark that is no longer ranked."""

    field = "benchmark"


class NotAgain(JobRefusal):
    """The job cannot be submitted again, because what it was is refused by now: an environment is gone."""


class NotAsRanked(JobRefusal):
    """Here the benchmark would be played on other data, or on another version of an environment, than it ranks."""

    field = "benchmark"


class SeveralRefusals(JobRefusal):
    """There is more than one reason."""

    def __init__(self, refusals: Sequence[JobRefusal]) -> None:
        super().__init__(" ".join(dict.fromkeys(map(str, refusals))))
        self.refusals = refusals

    @property
    def all(self) -> Sequence[JobRefusal]:
        """Every reason."""
        return self.refusals


class Ranked(JobRefusal):
    """The results of the job count on the leaderboard, so it is played as it was submitted."""


class CannotChange(JobRefusal):
    """The job, or what is to be changed of it, is not in a state that allows this."""


def check_environments(env_ids: Iterable[str], what: str) -> None:
    """Refuse to go on with something whose environments are not all here any more.

    Args:
        what: what cannot go on, such as "job".

    Raises:
        CannotChange: the message is for the person.
    """
    if gone := unregistered(env_ids):
        raise CannotChange(f"There is no environment {gone[0]} here any more, so this {what} cannot go on.")


class NotYours(JobRefusal):
    """Only the owner and staff may change a job."""


class CannotDelete(JobRefusal):
    """The job has not ended, or the leaderboard rests on it."""
