"""What trainings leave behind: the points of their curves, checkpoints, and episodes that are kept as samples."""

from __future__ import annotations

from typing import Any

from django.db import models

from apps.agents.models import Agent
from apps.episodes.models import Episode
from apps.jobs.models.jobs import Job


class Point(models.Model):
    """The metrics of one update of a training: a point on each of its curves."""

    pk = models.CompositePrimaryKey("job_id", "update")
    job = models.ForeignKey(Job, models.CASCADE, related_name="points", db_index=False)
    update = models.PositiveIntegerField()
    data: models.Field[Any, dict[str, float]] = models.JSONField()
    """The metrics by name, as `gem.training` writes them. docs/training.md explains each."""

    class Meta:
        ordering = ["update"]

    def __str__(self) -> str:
        return f"update {self.update} of {self.job_id}"


class Checkpoint(models.Model):
    """The policy after an update of a training, as an agent of its own."""

    job = models.ForeignKey(Job, models.CASCADE, related_name="checkpoints")
    update = models.PositiveIntegerField()
    agent = models.OneToOneField(Agent, models.PROTECT, related_name="checkpoint")
    success = models.FloatField(null=True, blank=True)
    """The share of episodes solved in that update; None if it is not known."""
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["update"]
        constraints = [models.UniqueConstraint(fields=["job", "update"], name="one_checkpoint_per_update")]

    def __str__(self) -> str:
        return f"checkpoint {self.update} of {self.job_id}"


class Sample(models.Model):
    """An episode of a training, kept to be looked at."""

    episode = models.OneToOneField(Episode, models.CASCADE, primary_key=True, related_name="sample")
    job = models.ForeignKey(Job, models.CASCADE, related_name="samples")
    update = models.PositiveIntegerField()
    group = models.PositiveIntegerField()
    """Episodes of one group have the same seed: they are several tries."""
    exam = models.BooleanField(default=False)
    """Whether it was played with a checkpoint on a seed that every checkpoint plays. Nothing is learned from it."""

    class Meta:
        ordering = ["update", "group", "episode__slot"]
        indexes = [models.Index(fields=["job", "update"])]

    def __str__(self) -> str:
        return f"sample of update {self.update} of {self.job_id}"
