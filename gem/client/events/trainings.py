"""The events of trainings."""

from __future__ import annotations

from typing import Literal

from gem.client.events.base import LogEvent, Queued, Reasoned
from gem.client.schemas.base import Id, JobState
from gem.client.schemas.trainings import Alarm


class TrainingEvent(LogEvent):
    """An event of a training."""

    training: Id


class TrainingQueued(TrainingEvent, Queued):
    """The training was submitted."""

    event: Literal["training.queued"] = "training.queued"
    updates: int


class TrainingStarted(TrainingEvent):
    """A worker began to train, or continues."""

    event: Literal["training.started"] = "training.started"
    attempt: int | None = None


class TrainingUpdates(TrainingEvent):
    """Updates were made. One that is made again after a restart is reported again."""

    event: Literal["training.updates"] = "training.updates"
    points: list[dict[str, float | None]]
    """The metrics of each update by name, `update` among them."""


class TrainingSamples(TrainingEvent):
    """Episodes of an update were kept to be looked at."""

    event: Literal["training.samples"] = "training.samples"
    update: int
    exam: bool
    """Whether they were played with a checkpoint on fixed seeds. Nothing is learned from these."""
    episodes: list[Id]


class TrainingCheckpoint(TrainingEvent):
    """The policy was saved: it is an agent."""

    event: Literal["training.checkpoint"] = "training.checkpoint"
    update: int
    agent: str
    """The slug of the agent."""


class TrainingAlarm(TrainingEvent):
    """An alarm was raised, or is over. The metrics of the update came before it."""

    event: Literal["training.alarm"] = "training.alarm"
    alarm: Alarm


class TrainingRequeued(TrainingEvent, Reasoned):
    """The training went back to the queue, and continues later from its last checkpoint."""

    event: Literal["training.requeued"] = "training.requeued"


class TrainingPaused(TrainingEvent, Reasoned):
    """The training was paused."""

    event: Literal["training.paused"] = "training.paused"


class TrainingResumed(TrainingEvent):
    """The training was resumed or extended, and waits for a worker."""

    event: Literal["training.resumed"] = "training.resumed"


class TrainingNoted(TrainingEvent):
    """Any other line of the log."""

    event: Literal["training.log"] = "training.log"


class TrainingEnded(TrainingEvent, Reasoned):
    """The training is over. It can be resumed or extended; then it continues."""

    event: Literal["training.ended"] = "training.ended"
    state: JobState | None = None
    """`done`, `stopped` by its alarm, `cancelled` or `failed`; null in events of older versions of this site."""
    update: int | None = None
    """The last update."""
    success: float | None = None
    """The share of its episodes that were solved."""
