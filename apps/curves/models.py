"""Trainings elsewhere, what they have sent, and a short form of their curves."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.urls import reverse
from django.utils import timezone

from apps.episodes.models import ID_LENGTH, make_id
from apps.moderation.moderated import Moderated
from apps.visibility import Person, VisibleQuerySet, column

QUIET = timedelta(hours=1)
MAX_NAME = 120
MAX_KEY = 80
MAX_METRIC = 160
"""Characters of the name of a metric."""


class OutsideTrainingQuerySet(VisibleQuerySet["OutsideTraining"]):
    """Reads of trainings elsewhere."""

    def owned_by(self, user: Person, visitor: str) -> models.Q:
        """See `VisibleQuerySet.owned_by`. Visitors send nothing."""
        return models.Q(owner=user.pk) if user.is_authenticated else models.Q(pk__in=[])


class OutsideTraining(Moderated):
    """A training that runs elsewhere. Nothing about it is verified: it is what its owner's program has sent."""

    class State(models.TextChoices):
        RUNNING = "running", "running"
        FINISHED = "finished", "finished"
        CRASHED = "crashed", "crashed"

    class Source(models.TextChoices):
        TRACKIO = "trackio", "trackio"
        API = "api", "the API"

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=make_id, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="outside_trainings")
    project = models.CharField(max_length=MAX_NAME)
    name = models.CharField(max_length=MAX_NAME)
    key = models.CharField(max_length=MAX_KEY)
    """What the program calls it; the same key continues it."""
    group = models.CharField(max_length=MAX_NAME, blank=True, default="")
    """What the program says that it belongs to, such as a sweep."""
    source = models.CharField(max_length=8, choices=Source.choices)
    config: models.Field[Any, dict[str, Any]] = models.JSONField(default=dict)
    """The settings that the program has sent."""
    visibility = column()
    state = models.CharField(max_length=8, choices=State.choices, default=State.RUNNING)
    reason = models.TextField(blank=True, default="")
    """Why it crashed, in the words of the program."""
    colour = models.PositiveSmallIntegerField(default=1)
    seq = models.PositiveIntegerField(default=0)
    """How many times it has changed."""
    entries = models.PositiveIntegerField(default=0)
    """How many entries are stored; the number of the last one."""
    thinned = models.PositiveIntegerField(default=0)
    """The last entry that is in its `Curve` rows."""
    width = models.PositiveBigIntegerField(default=1)
    """How many steps each place of these rows stands for, a power of two."""
    size = models.PositiveBigIntegerField(default=0)
    """Bytes of what is stored."""
    first_step = models.BigIntegerField(default=0)
    last_step = models.BigIntegerField(null=True, blank=True)
    latest: models.Field[Any, dict[str, float]] = models.JSONField(default=dict)
    """The last value of each metric that arrived."""
    transcripts = models.PositiveIntegerField(default=0)
    roles: models.Field[Any, dict[str, str]] = models.JSONField(default=dict)
    """Which of its metrics its owner compares with which of our trainings', by our names."""
    notes: models.Field[Any, dict[str, str]] = models.JSONField(default=dict)
    """What was sent and not kept, and other things that its owner should know: sentences, by what they are about."""
    began = models.DateTimeField(null=True, blank=True)
    """When its first entry was logged; its times count from then on."""
    created = models.DateTimeField(auto_now_add=True)
    heard = models.DateTimeField()
    """When something last arrived."""

    objects = OutsideTrainingQuerySet.as_manager()

    class Meta:
        ordering = ["-created"]
        indexes = [
            models.Index(fields=["-created", "id"], name="outside_by_time"),
            models.Index(fields=["owner", "-created"], name="outside_of_owner"),
        ]
        constraints = [models.UniqueConstraint(fields=["owner", "project", "key"], name="one_outside_training_per_key")]

    def __str__(self) -> str:
        return f"{self.project} / {self.name}"

    def get_absolute_url(self) -> str:
        """Its page."""
        return reverse("curves:training", args=[self.pk])

    @property
    def title(self) -> str:
        """Its name, for lists of trainings."""
        return self.name

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has arrived for so long that nothing more is expected."""
        return timezone.now() - self.heard > QUIET

    @property
    def over(self) -> bool:
        """Whether its program has said that it ended. A program that dies says nothing."""
        return self.state != self.State.RUNNING


class Entry(models.Model):
    """What was sent at once about a step."""

    pk = models.CompositePrimaryKey("training_id", "number")
    training = models.ForeignKey(OutsideTraining, models.CASCADE, related_name="sent", db_index=False)
    number = models.PositiveIntegerField()
    """In the order of arrival, from 1 on."""
    key = models.UUIDField()
    """The same for an entry that is sent again, which is stored once."""
    step = models.BigIntegerField()
    seconds = models.FloatField()
    """Since the training began."""
    data: models.Field[Any, dict[str, float]] = models.JSONField()
    """Metrics by name."""

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["training", "key"], name="one_entry_per_key")]

    def __str__(self) -> str:
        return f"entry {self.number} of {self.training_id}"


class Curve(models.Model):
    """A metric of a training, thinned to some hundred points. The one without a name has all steps, and their times."""

    training = models.ForeignKey(OutsideTraining, models.CASCADE, related_name="curves", db_index=False)
    name = models.CharField(max_length=MAX_METRIC, blank=True)
    steps: models.Field[Any, list[int]] = ArrayField(models.BigIntegerField())
    values: models.Field[Any, list[float]] = ArrayField(models.FloatField())

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["training", "name"], name="one_curve_per_metric")]

    def __str__(self) -> str:
        return f"{self.name} of {self.training_id}"


class Transcript(models.Model):
    """A conversation, or a table of them, that a training has sent beside its metrics."""

    class Kind(models.TextChoices):
        TRACE = "trace", "a conversation"
        TABLE = "table", "a table"

    training = models.ForeignKey(OutsideTraining, models.CASCADE, related_name="kept", db_index=False)
    key = models.UUIDField()
    kind = models.CharField(max_length=5, choices=Kind.choices)
    name = models.CharField(max_length=MAX_METRIC)
    step = models.BigIntegerField()
    data: models.Field[Any, dict[str, Any]] = models.JSONField()
    """Of a conversation: `messages` and `metadata`. Of a table: `columns` and `rows`."""

    class Meta:
        ordering = ["step", "pk"]
        constraints = [models.UniqueConstraint(fields=["training", "key"], name="one_transcript_per_key")]
        indexes = [models.Index(fields=["training", "step", "id"], name="transcripts_by_step")]

    def __str__(self) -> str:
        return f"{self.name} at step {self.step} of {self.training_id}"
