"""Webhooks, how far each has read the events of each job, and what it sends."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.urls import reverse

from apps.episodes.models import ID_LENGTH, make_id
from apps.leases import Leased, LeasedQuerySet
from gem.client.events import EVENTS

OFFERED = tuple(name for name in EVENTS if name.startswith(("job.", "training.")))
"""The events that a webhook can send: those of a person's own jobs."""
MAX_URL_CHARACTERS = 500


class Webhook(models.Model):
    """An address to which events of its owner's jobs are sent."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=MAX_URL_CHARACTERS)
    events: models.Field[Any, list[str]] = ArrayField(models.CharField(max_length=40))
    """The names of the events that it sends, of `OFFERED`."""
    sealed_secret = models.TextField()
    """The secret that signs what is sent, encrypted (`apps.agents.seal`)."""
    failures = models.PositiveIntegerField(default=0)
    """Tries that failed since the last one that succeeded."""
    disabled = models.DateTimeField(null=True, blank=True)
    why_disabled = models.TextField(blank=True)
    """The sentence for its owner; empty while it is on, or if the owner turned it off."""
    created = models.DateTimeField(auto_now_add=True)

    objects: models.Manager[Webhook] = models.Manager()

    class Meta:
        ordering = ["created", "pk"]

    def __str__(self) -> str:
        return f"webhook {self.pk} of {self.owner}"

    def get_absolute_url(self) -> str:
        """Its page, with its deliveries."""
        return reverse("webhooks:webhook", args=[self.pk])


class Place(models.Model):
    """How far a webhook has read the events of a job: those up to `seq` need no delivery any more, or have one."""

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="places")
    job = models.CharField(max_length=ID_LENGTH)
    seq = models.PositiveIntegerField()

    objects: models.Manager[Place] = models.Manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["webhook", "job"], name="one_place_per_job")]

    def __str__(self) -> str:
        return f"{self.job} up to {self.seq}"


class Delivery(Leased):
    """An event that is owed to a webhook, or was sent. `attempt` counts the tries."""

    class State(models.TextChoices):
        WAITING = "waiting"
        DELIVERED = "delivered"
        FAILED = "failed"
        WITHHELD = "withheld"  # its owner may not see the job any more

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=make_id, editable=False)
    """The `webhook-id`: it stays the same however often the delivery is sent."""
    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=40)
    job = models.CharField(max_length=ID_LENGTH)
    seq = models.PositiveIntegerField()
    body = models.TextField()
    """What is sent, exactly: the event as JSON."""
    state = models.CharField(max_length=12, choices=State.choices, default=State.WAITING)
    due = models.DateTimeField()
    """When it may be tried next."""
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    """The status of the last answer; None if there was none."""
    answer = models.TextField(blank=True)
    """The beginning of the last answer, or why there was none."""
    seconds = models.FloatField(null=True, blank=True)
    """How long the last try took."""
    tried = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField(auto_now_add=True)

    objects = LeasedQuerySet["Delivery"].as_manager()

    class Meta:
        ordering = ["-created", "-pk"]
        constraints = [models.UniqueConstraint(fields=["webhook", "job", "seq"], name="one_delivery_per_event")]
        indexes = [
            models.Index(fields=["webhook", "-created", "id"], name="deliveries_by_time"),
            models.Index(fields=["webhook", "due"], condition=models.Q(state="waiting"), name="deliveries_due"),
        ]

    def __str__(self) -> str:
        return f"{self.event} of {self.job}"
