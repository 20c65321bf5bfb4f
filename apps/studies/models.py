"""Studies that people have started, and the runs that each is made of."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.urls import reverse

from apps.admission.models import Admitted
from apps.agents.models import Agent
from apps.episodes.models import ID_LENGTH, make_id
from apps.leases import LeasedQuerySet
from apps.moderation.moderated import Moderated
from apps.visibility import Person, VisibleQuerySet, column
from gem.studies.results import RunResult
from gem.studies.study import Run
from gem.studies.study import Study as Plan
from gem.validation.stored import STORED

MAX_TITLE = 100


class StudyQuerySet(VisibleQuerySet["Study"]):
    """Reads of studies."""

    def owned_by(self, user: Person, visitor: str) -> models.Q:
        """See `VisibleQuerySet.owned_by`. Visitors start nothing."""
        return models.Q(owner=user.pk) if user.is_authenticated else models.Q(pk__in=[])

    def unfinished(self) -> StudyQuerySet:
        """Those that wait, run or are paused."""
        return self.filter(state__in=[Study.State.QUEUED, Study.State.RUNNING, Study.State.PAUSED])

    def open(self) -> StudyQuerySet:
        """Those whose runs are made when a worker is free."""
        return self.filter(state__in=[Study.State.QUEUED, Study.State.RUNNING])


class Study(Moderated):
    """A question about training, and the trainings that answer it here."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        PAUSED = "paused"
        DONE = "done"
        CANCELLED = "cancelled"
        FAILED = "failed"

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=make_id, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="studies")
    title = models.CharField(max_length=MAX_TITLE)
    plan_data: models.Field[Any, dict[str, Any]] = models.JSONField()
    """The plan, with the seeds and environments that were chosen."""
    visibility = column()
    state = models.CharField(max_length=9, choices=State.choices, default=State.QUEUED)
    reason = models.TextField(blank=True, default="")
    """Why it failed."""
    keeps_policies = models.BooleanField(default=False)
    """Whether the last policy of each compared run becomes an agent."""
    reuses_results = models.BooleanField(default=True)
    """Whether runs whose result comes with gemweb are not made again."""
    idempotency_key = models.CharField(max_length=80, blank=True, default="")
    """Two requests with the same owner and key start one study."""
    seq = models.PositiveIntegerField(default=0)
    """How many times it has changed."""
    total = models.PositiveIntegerField()
    done = models.PositiveIntegerField(default=0)
    """Runs with a result."""
    reused = models.PositiveIntegerField(default=0)
    """Of these, the runs whose result came with gemweb."""
    cpu_seconds = models.FloatField(default=0.0)
    """Of the runs that were made here."""
    created = models.DateTimeField(auto_now_add=True)
    started = models.DateTimeField(null=True, blank=True)
    ended = models.DateTimeField(null=True, blank=True)

    objects = StudyQuerySet.as_manager()

    class Meta:
        ordering = ["-created"]
        verbose_name_plural = "studies"
        indexes = [
            models.Index(fields=["-created", "id"], name="studies_by_time"),
            models.Index(fields=["owner", "-created"], name="studies_of_owner"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "idempotency_key"], condition=~models.Q(idempotency_key=""), name="one_study_per_key"
            )
        ]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        """Its page."""
        return reverse("studies:started", args=[self.pk])

    @property
    def plan(self) -> Plan:
        """What it compares; its environments may be gone."""
        return Plan.model_validate(self.plan_data, context=STORED)

    @property
    def cpu_hours(self) -> float:
        """CPU hours of the runs that were made here."""
        return self.cpu_seconds / 3600

    @property
    def over(self) -> bool:
        """Whether no worker will make another run of it, unless its owner lets it go on."""
        return self.state not in {self.State.QUEUED, self.State.RUNNING, self.State.PAUSED}

    def may_be_changed_by(self, user: Person) -> bool:
        """Whether `user` may pause or cancel it: its owner, or staff."""
        return user.is_authenticated and (user.is_staff or user.pk == self.owner_id)


class StudyRunQuerySet(LeasedQuerySet["StudyRun"]):
    """Reads of runs."""

    def to_make(self) -> StudyRunQuerySet:
        """Those that wait for a worker or are under way."""
        return self.filter(state=StudyRun.State.WAITING, study__state__in=[Study.State.QUEUED, Study.State.RUNNING])


class StudyRun(Admitted):
    """One training of a study, and what it reached."""

    class State(models.TextChoices):
        WAITING = "waiting", "to be made"
        DONE = "done"
        FAILED = "failed"

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=make_id, editable=False)
    study = models.ForeignKey(Study, models.CASCADE, related_name="runs")
    number = models.PositiveIntegerField()
    """Its place in the order of the plan, in which runs are made."""
    environment = models.CharField(max_length=40)
    variant = models.CharField(max_length=200)
    seed = models.PositiveIntegerField()
    tuned = models.JSONField(null=True, blank=True)
    """The value of the tuned setting; None if nothing is tuned."""
    state = models.CharField(max_length=7, choices=State.choices, default=State.WAITING)
    sentence = models.TextField(blank=True, default="")
    """Why it failed."""
    result_data: models.Field[Any, dict[str, Any] | None] = models.JSONField(null=True, blank=True)
    """A `gem.studies.results.RunResult`."""
    is_reused = models.BooleanField(default=False)
    """Whether the result came with gemweb."""
    cpu_seconds = models.FloatField(default=0.0)
    """Of its training, in one thread."""
    update = models.PositiveIntegerField(default=0)
    """Updates of the training so far."""
    updates = models.PositiveIntegerField(default=0)
    """Updates of the whole training."""
    curve: models.Field[Any, list[float]] = models.JSONField(default=list)
    """The share solved during the training so far, at 40 points at most."""
    agent = models.OneToOneField(Agent, models.SET_NULL, null=True, blank=True, related_name="study_run")
    """The policy at the end, if the study keeps policies."""
    began = models.DateTimeField(null=True, blank=True)
    ended = models.DateTimeField(null=True, blank=True)

    objects = StudyRunQuerySet.as_manager()

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["study", "number"], name="one_run_per_place")]
        indexes = [
            models.Index(fields=["study"], condition=models.Q(state="waiting"), name="study_runs_to_make"),
        ]

    def __str__(self) -> str:
        return f"{self.run.file} of {self.study_id}"

    @property
    def run(self) -> Run:
        """Which run of the plan it is."""
        return Run(self.environment, self.variant, self.seed, self.tuned)

    @property
    def result(self) -> RunResult | None:
        """What it reached; None as long as it has not ended."""
        return None if self.result_data is None else RunResult.model_validate(self.result_data)

    @property
    def is_trial(self) -> bool:
        """Whether it only serves to choose a value."""
        return self.run.is_trial
