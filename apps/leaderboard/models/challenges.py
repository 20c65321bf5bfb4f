"""Challenges: seeds that were drawn for somebody who plays elsewhere, and what became of the episodes they sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import Viewer
from apps.admission.models import Admitted
from apps.agents.models import Agent
from apps.episodes.models import ID_LENGTH, Batch, make_id
from apps.jobs.models import Job
from apps.leases import LeasedQuerySet
from apps.seasons.models import Season
from apps.visibility import Visibility, column

FOLDER = "results"
"""Below `settings.RUNS_DIR`."""


class ChallengeQuerySet(LeasedQuerySet["Challenge"]):
    """Reads of challenges."""

    def of(self, user: Viewer) -> ChallengeQuerySet:
        """Those of this person. Nobody else sees them, because whoever knows the seeds could study them."""
        return self.filter(owner=user.pk) if user.is_authenticated else self.none()

    def waiting(self) -> ChallengeQuerySet:
        """Those whose episodes wait for a worker, or are being executed again."""
        return self.filter(state=Challenge.State.SENT)

    def open(self) -> ChallengeQuerySet:
        """Those for which episodes can be sent, and those whose episodes are being checked."""
        return self.filter(Q(state=Challenge.State.SENT) | Q(state=Challenge.State.OPEN, deadline__gt=Now()))


class Challenge(Admitted):
    """Seeds of a benchmark that one person plays elsewhere, each once and before a deadline.

    They are a submission of the season with seeds of their own, which nobody else meets. A worker owns the row while
    it executes the episodes again, and adds to `leaves` what it has executed.
    """

    class State(models.TextChoices):
        OPEN = "open", "waiting for episodes"
        SENT = "sent", "being verified"
        VERIFIED = "verified", "verified"
        REPORTED = "reported", "reported"

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=make_id, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="challenges")
    season = models.ForeignKey(Season, models.PROTECT, related_name="challenges")
    submission = models.PositiveIntegerField()
    """Its number among the submissions of the season."""
    agent_name = models.CharField(max_length=80)
    declared = models.CharField(max_length=8, choices=Agent.Nature.choices)
    """What its owner says that the agent is."""
    spec = models.JSONField()
    """The `EvaluationSpec` of the benchmark and its tools, with the short name `outside` for the agent."""
    visibility = column(Visibility.PUBLIC)
    """Who will see the row and its episodes."""
    deadline = models.DateTimeField()
    """Episodes that arrive later are not taken."""
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    uploads = models.PositiveIntegerField(default=0)
    """How often episodes were sent for it."""
    problem = models.TextField(blank=True, default="")
    """Why the episodes that were sent last are not verified, as a sentence; empty if nothing is wrong."""
    lines = models.PositiveIntegerField(default=0)
    """The lines of the file that were read so far."""
    leaves: models.Field[Any, list[list[Any]]] = models.JSONField(default=list)
    """Environment, index and digest of every episode that was executed, in the order of the file."""
    executed = models.PositiveIntegerField(default=0)
    """The number of these episodes."""
    turns = models.PositiveBigIntegerField(default=0)
    notes: models.Field[Any, dict[str, int]] = models.JSONField(default=dict)
    """What was taken from the records, as sentences, and of how many episodes."""
    seconds = models.FloatField(default=0.0)
    """For which workers were busy with the present file."""
    batch = models.ForeignKey(Batch, models.SET_NULL, null=True, blank=True, related_name="+")
    """Where its episodes are being recorded, or were."""
    job = models.OneToOneField(Job, models.SET_NULL, null=True, blank=True, related_name="challenge")
    """The job that stands for the row, if it is verified."""
    created = models.DateTimeField(auto_now_add=True)
    sent = models.DateTimeField(null=True, blank=True)
    """When the present file arrived."""
    ended = models.DateTimeField(null=True, blank=True)
    """When it became verified or reported."""

    objects = ChallengeQuerySet.as_manager()

    class Meta:
        ordering = ["-created"]
        constraints = [
            models.UniqueConstraint(fields=["season", "submission"], name="one_challenge_per_submission"),
        ]
        indexes = [
            models.Index(fields=["owner", "-created"]),
            models.Index(fields=["sent"], condition=Q(state="sent"), name="results_to_verify"),
        ]

    def __str__(self) -> str:
        return f"challenge {self.pk}: {self.state}"

    def get_absolute_url(self) -> str:
        """Its page."""
        return reverse("leaderboard:challenge", args=[self.pk])

    @property
    def benchmark(self) -> str:
        """The name of the benchmark."""
        return self.season.benchmark

    @property
    def is_over(self) -> bool:
        """Whether no episodes are taken any more."""
        return self.state in {self.State.VERIFIED, self.State.REPORTED} or (
            self.state == self.State.OPEN and self.deadline <= timezone.now()
        )

    @property
    def state_in_words(self) -> str:
        """The state as pages name it: unused and failed challenges are those that are over without a row."""
        if self.state != self.State.OPEN or not self.is_over:
            return self.State(self.state).label
        return "failed" if self.uploads else "unused"

    @property
    def path(self) -> Path:
        """The file that was sent, until it is checked."""
        return folder() / f"{self.pk}.sent"


def folder() -> Path:
    """Where files wait to be checked."""
    return Path(settings.RUNS_DIR) / FOLDER
