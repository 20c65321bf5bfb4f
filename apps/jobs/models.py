"""Jobs: requests to evaluate (later: to train), and the shards that workers claim."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.episodes.models import ID_LENGTH, Batch, make_id


class JobQuerySet(models.QuerySet["Job"]):
    """Reads of jobs."""

    def active(self) -> JobQuerySet:
        """Queued or running."""
        return self.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING])

    def of(self, user: Viewer) -> JobQuerySet:
        """Those that `user` submitted."""
        return self.filter(owner=user) if user.is_authenticated else self.none()


class Job(models.Model):
    """An evaluation and its life."""

    class Kind(models.TextChoices):
        EVALUATION = "evaluation"

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        CANCELLED = "cancelled"
        FAILED = "failed"

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=make_id, editable=False)
    kind = models.CharField(max_length=12, choices=Kind.choices, default=Kind.EVALUATION)
    name = models.CharField(max_length=120, blank=True)
    spec = models.JSONField()
    """A `gem.specs.EvaluationSpec` as JSON: form, API and worker validate with the same model."""
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="jobs")
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="jobs")
    batch = models.OneToOneField(Batch, models.CASCADE, related_name="job")
    state = models.CharField(max_length=12, choices=State.choices, default=State.QUEUED)
    reason = models.TextField(blank=True)
    """Why it failed or was cancelled, for its owner."""
    idempotency_key = models.CharField(max_length=80, null=True, blank=True, unique=True)
    seq = models.PositiveIntegerField(default=0)
    episodes_total = models.PositiveIntegerField()
    episodes_done = models.PositiveIntegerField(default=0)
    turns_done = models.PositiveBigIntegerField(default=0)
    seconds_busy = models.FloatField(default=0.0)
    """Wall time that workers spent on it, summed over shards."""
    created = models.DateTimeField(auto_now_add=True)
    started = models.DateTimeField(null=True, blank=True)
    ended = models.DateTimeField(null=True, blank=True)

    shards: models.Manager[Shard]

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering = ["-created"]
        indexes = [models.Index(fields=["state", "created"]), models.Index(fields=["owner", "-created"])]

    def __str__(self) -> str:
        return self.name or f"{self.kind} {self.id}"

    def get_absolute_url(self) -> str:
        """The job's page."""
        return reverse("jobs:job", args=[self.id])

    @property
    def over(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state in {self.State.DONE, self.State.CANCELLED, self.State.FAILED}


class Shard(models.Model):
    """A part of a job that one worker plays: consecutive slots of one environment.

    Every write of a worker is fenced by `lease_token`: who lost the lease writes nothing.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        CANCELLED = "cancelled"
        FAILED = "failed"

    job = models.ForeignKey(Job, models.CASCADE, related_name="shards")
    number = models.PositiveIntegerField()
    env_id = models.CharField(max_length=120)
    first_slot = models.PositiveIntegerField()
    count = models.PositiveIntegerField()
    done = models.PositiveIntegerField(default=0)
    """How many of its slots are recorded; a new attempt goes on from here."""
    state = models.CharField(max_length=12, choices=State.choices, default=State.QUEUED)
    attempt = models.PositiveSmallIntegerField(default=0)
    reason = models.TextField(blank=True)
    lease_token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    sent = models.DateTimeField(null=True, blank=True)
    """When the broker was last told of it; the dispatcher repeats what nobody picked up."""

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["job", "number"], name="one_shard_per_number")]
        indexes = [models.Index(fields=["state", "lease_until"])]

    def __str__(self) -> str:
        return f"shard {self.number} of job {self.job_id}"
