"""The events of jobs, for their logs and event streams."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from apps.jobs.models.jobs import Job


class JobEventQuerySet(models.QuerySet["JobEvent"]):
    """Reads of events."""

    def for_log(self) -> JobEventQuerySet:
        """Those that the log of a page shows. Which episodes a training has kept is seen in their list."""
        return self.exclude(kind=JobEvent.Kind.SAMPLES)

    def matching(self, text: str, level: str = "all") -> JobEventQuerySet:
        """Those with this text, in any case, that are marked at least so: `all`, `warnings` or `errors`."""
        found = self.filter(text__icontains=text) if text else self
        tones = {"warnings": [JobEvent.Tone.WARN, JobEvent.Tone.LOSS], "errors": [JobEvent.Tone.LOSS]}.get(level)
        return found if tones is None else found.filter(tone__in=tones)


class JobEvent(models.Model):
    """A change that raised a job's `seq`, for the job's log and for the pages that watch the job."""

    class Kind(models.TextChoices):
        SUBMITTED = "submitted"
        CLAIMED = "claimed"
        EPISODES = "episodes"
        UPDATES = "updates"
        SAMPLES = "samples"
        CHECKPOINT = "checkpoint"
        ALARM = "alarm"
        REQUEUED = "requeued"
        PAUSED = "paused"
        RESUMED = "resumed"
        CHANGED = "changed"
        RETRIED = "retried"
        ENDED = "ended"

    class Tone(models.TextChoices):
        PLAIN = ""
        WARN = "warn"
        LOSS = "loss"

    pk = models.CompositePrimaryKey("job_id", "seq")
    job = models.ForeignKey(Job, models.CASCADE, related_name="events", db_index=False)
    seq = models.PositiveIntegerField()
    kind = models.CharField(max_length=12, choices=Kind.choices)
    tone = models.CharField(max_length=4, choices=Tone.choices, blank=True)
    text = models.TextField()
    slots: models.Field[Any, list[int]] = ArrayField(models.PositiveIntegerField(), default=list)
    """The slots of the episodes that were recorded; of `retried`, of those that are played again."""
    data: models.Field[Any, dict[str, Any]] = models.JSONField(default=dict, db_default={})
    """What programs read besides the text: see `apps.jobs.events` and `apps.trainings.events`. Empty in old rows."""
    at = models.DateTimeField(db_default=Now())

    objects = JobEventQuerySet.as_manager()

    class Meta:
        ordering = ["seq"]

    def __str__(self) -> str:
        return self.text
