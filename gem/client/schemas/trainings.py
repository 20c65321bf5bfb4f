"""Trainings: their submission, their curves, alarms and checkpoints."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from gem.client.schemas.base import Answer, Body, Id, Visibility
from gem.client.schemas.jobs import Job
from gem.validation.whole import Flag, Whole


class NewTraining(Body):
    """A training to submit: a recipe, or a specification, or a recipe with some settings changed."""

    recipe: str = ""
    spec: dict[str, Any] = {}
    """Settings of a `gem.training.TrainingSpec`, which come before those of the recipe."""
    name: Annotated[str, Field(max_length=120)] = ""
    visibility: Visibility | None = None
    evaluate_best: Flag = False
    """Submit the best checkpoint for evaluation when the training is done."""
    parent: Id | None = None
    """A training to fork."""
    parent_update: Annotated[Whole, Field(ge=0)] | None = None
    """The update of the checkpoint to fork; the newest if it is left out."""


class Extension(Body):
    """How many more updates a training gets."""

    updates: Annotated[Whole, Field(ge=1, le=10**9)]


class Alarm(Answer):
    """A sign in the metrics of a training that it collapsed or learns nothing."""

    name: Literal["invalid", "entropy", "kl", "flat", "return", "success"]
    metric: str
    """The metric that shows it."""
    title: str
    text: str
    """The meaning of the alarm."""
    advice: str
    """Things to try against it."""
    began: int
    """The update at which it began."""
    ended: int | None
    """The first update after it; null while it holds."""
    holds: bool
    """Whether it holds in the last update."""
    value: float
    """The metric when it was last seen to be so."""
    start: float
    """The metric at the start."""


class Training(Job):
    """A training, with its last update."""

    updates: int
    updates_done: int
    last: dict[str, float | None] | None
    """The metrics of the last update."""
    best_update: int | None
    """The update of the best checkpoint; null if none is clearly better than the start."""
    best_reason: str = ""
    """Why no checkpoint is called the best; empty if one is."""
    alarms: list[Alarm] = []
    """Those that hold first."""
    evaluations: list[Id]
    """The evaluations of its checkpoints."""


class Metrics(Answer):
    """The points of all curves after an update, as columns of equal length."""

    last: int
    """The update of the last point: ask for those after it next."""
    over: bool
    columns: dict[str, list[float | None]]


class Checkpoint(Answer):
    """The policy after an update, which is an agent."""

    update: int
    agent: str
    success: float | None
    """The share of episodes solved in that update."""
    size: int | None
    sha256: str | None
    created: datetime


class CheckpointPage(Answer):
    """The checkpoints of a training, in their order."""

    items: list[Checkpoint]
    next: str | None = None
