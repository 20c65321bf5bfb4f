"""Reported evaluations and their episodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from apps.episodes.models import ID_LENGTH, make_id
from apps.moderation.moderated import Moderated
from apps.visibility import Person, VisibleQuerySet, column

FOLDER = "reported"
"""Below `settings.RUNS_DIR`: files that wait to be read."""
MAX_NAME, MAX_KEY = 120, 80


class ReportedEvaluationQuerySet(VisibleQuerySet["ReportedEvaluation"]):
    """Reads of reported evaluations."""

    def owned_by(self, user: Person, visitor: str) -> Q:
        """See `VisibleQuerySet.owned_by`. Visitors report nothing."""
        return Q(owner=user.pk) if user.is_authenticated else Q(pk__in=[])


class ReportedEvaluation(Moderated):
    """What somebody's program says of an evaluation that it has made."""

    class State(models.TextChoices):
        RECEIVING = "arriving", "arriving"
        WAITING = "waiting", "waiting to be read"
        READING = "reading", "being read"
        RUNNING = "running", "open"
        DONE = "done", "finished"
        FAILED = "failed", "failed"
        REFUSED = "refused", "not readable"

    class Source(models.TextChoices):
        VERIFIERS = "verifiers", "verifiers"
        INSPECT = "inspect", "Inspect"
        GEM = "gem", "GEM"
        UNKNOWN = "file", "a file"

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=make_id, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="reported_evaluations")
    name = models.CharField(max_length=MAX_NAME)
    model = models.CharField(max_length=MAX_NAME, blank=True, default="")
    """The model or agent that was evaluated, as reported."""
    source = models.CharField(max_length=9, choices=Source.choices)
    key = models.CharField(max_length=MAX_KEY, blank=True, default="")
    """What the program calls it, of a file that is sent again."""
    environments: models.Field[Any, list[str]] = models.JSONField(default=list)
    config: models.Field[Any, dict[str, Any]] = models.JSONField(default=dict)
    metrics: models.Field[Any, dict[str, float]] = models.JSONField(default=dict)
    """The results as the program has computed them."""
    visibility = column()
    state = models.CharField(max_length=8, choices=State.choices, default=State.RUNNING)
    reason = models.TextField(blank=True, default="")
    """Why it failed, or why its file cannot be read."""
    attempt = models.PositiveSmallIntegerField(default=0)
    """How often a worker has begun to read its file."""
    begun = models.DateTimeField(null=True, blank=True)
    """When a worker last began to."""
    episodes = models.PositiveIntegerField(default=0)
    reward_sum = models.FloatField(default=0.0)
    rewarded = models.PositiveIntegerField(default=0)
    """Episodes with a reward."""
    solved = models.PositiveIntegerField(default=0)
    judged = models.PositiveIntegerField(default=0)
    """Episodes of which it is said whether they were solved."""
    errors = models.PositiveIntegerField(default=0)
    size = models.PositiveBigIntegerField(default=0)
    """Bytes of what is stored."""
    created = models.DateTimeField(auto_now_add=True)
    ended = models.DateTimeField(null=True, blank=True)

    objects = ReportedEvaluationQuerySet.as_manager()

    class Meta:
        ordering = ["-created"]
        indexes = [
            models.Index(fields=["-created", "id"], name="reported_by_time"),
            models.Index(fields=["owner", "-created"], name="reported_of_owner"),
            models.Index(fields=["created"], condition=Q(state__in=["waiting", "reading"]), name="reported_to_read"),
        ]

    def __str__(self) -> str:
        return f"{self.model} on {self.name}, as reported"

    def get_absolute_url(self) -> str:
        """Its page."""
        return reverse("reported:evaluation", args=[self.pk])

    @property
    def mean_reward(self) -> float | None:
        """The mean over the episodes that have a reward."""
        return self.reward_sum / self.rewarded if self.rewarded else None

    @property
    def share_solved(self) -> float | None:
        """Of the episodes of which it is said."""
        return self.solved / self.judged if self.judged else None

    @property
    def is_waiting(self) -> bool:
        """Whether its file has not been read yet."""
        return self.state in (self.State.WAITING, self.State.READING)

    @property
    def path(self) -> Path:
        """The file that was sent, until it is read."""
        return folder() / f"{self.pk}.sent"


class ReportedEpisode(models.Model):
    """One episode, as a conversation."""

    evaluation = models.ForeignKey(ReportedEvaluation, models.CASCADE, related_name="rows", db_index=False)
    number = models.PositiveIntegerField()
    """In the order of arrival, from 1 on."""
    key = models.CharField(max_length=120)
    example = models.CharField(max_length=120, blank=True)
    env_id = models.CharField(max_length=120, blank=True)
    reward = models.FloatField(null=True, blank=True)
    solved = models.BooleanField(null=True, blank=True)
    error = models.TextField(blank=True)
    turns = models.PositiveIntegerField(default=0)
    messages: models.Field[Any, list[dict[str, str]]] = models.JSONField()
    left_out = models.PositiveIntegerField(default=0)
    extra: models.Field[Any, dict[str, Any]] = models.JSONField(default=dict)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["evaluation", "number"], name="one_reported_episode_per_number"),
            models.UniqueConstraint(fields=["evaluation", "key"], name="one_reported_episode_per_key"),
        ]

    def __str__(self) -> str:
        return f"episode {self.number} of {self.evaluation_id}"

    def get_absolute_url(self) -> str:
        """Its replay."""
        return reverse("reported:episode", args=[self.evaluation_id, self.number])


def folder() -> Path:
    """Where files wait."""
    return Path(settings.RUNS_DIR) / FOLDER
