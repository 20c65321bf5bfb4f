"""The events of evaluations."""

from __future__ import annotations

from typing import Literal

from gem.client.events.base import LogEvent, Queued, Reasoned
from gem.client.schemas.base import Answer, Id, JobState, Outcome


class JobEvent(LogEvent):
    """An event of an evaluation."""

    job: Id


class JobQueued(JobEvent, Queued):
    """The evaluation was submitted."""

    event: Literal["job.queued"] = "job.queued"


class JobStarted(JobEvent):
    """A worker began to play a shard; with the first one, the evaluation runs."""

    event: Literal["job.shard_started"] = "job.shard_started"
    shard: int | None = None
    """The number of the shard, from 1. This and the fields below are null in events of older versions of this site."""
    env_id: str | None = None
    episodes: int | None = None
    """The episodes that are left in the shard."""
    attempt: int | None = None


class FinishedEpisode(Answer):
    """An episode that an evaluation has finished."""

    id: Id
    slot: int
    env_id: str
    seed: int
    outcome: Outcome
    total_reward: float
    """The return of the evaluated agent."""
    turn_count: int
    failure: str = ""


class JobEpisodes(JobEvent):
    """Episodes were finished; they are recorded together."""

    event: Literal["job.episodes"] = "job.episodes"
    episodes: list[FinishedEpisode]
    done: int | None = None
    """The episodes of the evaluation that are finished; null in events of older versions of this site."""
    total: int | None = None
    """The episodes of the evaluation."""


class JobShardRequeued(JobEvent, Reasoned):
    """A shard went back to the queue, and is played on later. Its finished episodes are kept."""

    event: Literal["job.shard_requeued"] = "job.shard_requeued"
    shard: int | None = None


class JobPaused(JobEvent, Reasoned):
    """The evaluation was paused."""

    event: Literal["job.paused"] = "job.paused"


class JobResumed(JobEvent):
    """The evaluation continues after a pause."""

    event: Literal["job.resumed"] = "job.resumed"


class JobNoted(JobEvent):
    """Any other line of the log."""

    event: Literal["job.log"] = "job.log"


class JobResult(Answer):
    """Sums over the episodes of an evaluation."""

    done: int
    counted: int
    """Episodes that count: without environment errors and unanswered episodes."""
    won: int
    limited: int
    errors: int
    unanswered: int
    """The errors in which the agent gave no answer."""
    mean_return: float | None
    tokens_in: int
    tokens_out: int
    tokens_estimated: int = 0
    """The part of the tokens that no server has counted."""


class JobEnded(JobEvent, Reasoned):
    """The evaluation is over."""

    event: Literal["job.ended"] = "job.ended"
    state: JobState | None = None
    """`done`, `stopped`, `cancelled` or `failed`; null in events of older versions of this site."""
    result: JobResult | None = None
