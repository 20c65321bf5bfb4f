"""Webhooks, how far each has read the events of each job, episode and duel, and what it sends."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.urls import reverse

from apps.episodes.models import ID_LENGTH, make_id
from apps.leases import Leased, LeasedQuerySet
from gem.client.events import EVENTS

TEST = "webhook.test"
"""The event that its owner can send to try it."""
_ORDER = ("job", "training", "episode", "duel")
OFFERED = tuple(name for kind in _ORDER for name in EVENTS if name.startswith(f"{kind}."))
"""The events that a webhook can send: those of a person's own jobs, live episodes and duels."""
MAX_URL_CHARACTERS = 500
_PAGES = {"job": "jobs:job", "episode": "episodes:episode", "duel": "duels:duel"}


class Webhook(models.Model):
    """An address to which events of its owner are sent."""

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
    episodes_since = models.DateTimeField(null=True, blank=True)
    """Of episodes that began before this, only those are read that were running then; null if none are sent."""
    duels_since = models.DateTimeField(null=True, blank=True)
    """The same of duels."""
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
    """How far a webhook has read the events of a row: those up to `seq` need no delivery any more, or have one."""

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="places")
    topic = models.CharField(max_length=12)
    """That of the row's stream: `job`, also for trainings, `episode` or `duel`."""
    key = models.CharField(max_length=ID_LENGTH)
    """The id of the row."""
    seq = models.PositiveIntegerField()
    is_over = models.BooleanField(default=False)
    """Whether nothing follows, of an episode or a duel."""
    read = models.DateTimeField(auto_now=True)

    objects: models.Manager[Place] = models.Manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["webhook", "topic", "key"], name="one_place_per_row")]

    def __str__(self) -> str:
        return f"{self.topic} {self.key} up to {self.seq}"


class Delivery(Leased):
    """An event that is owed to a webhook, or was sent. `attempt` counts the tries."""

    class State(models.TextChoices):
        WAITING = "waiting"
        DELIVERED = "delivered"
        FAILED = "failed"
        WITHHELD = "withheld"  # its owner may not see what it is about any more

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=make_id, editable=False)
    """The `webhook-id`: it stays the same however often the delivery is sent."""
    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=40)
    topic = models.CharField(max_length=12)
    """`job`, also for trainings, `episode`, `duel`, or `webhook` for a test."""
    key = models.CharField(max_length=ID_LENGTH)
    """The id of what the event is about."""
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
        constraints = [
            models.UniqueConstraint(fields=["webhook", "topic", "key", "seq"], name="one_delivery_per_event")
        ]
        indexes = [
            models.Index(fields=["webhook", "-created", "id"], name="deliveries_by_time"),
            models.Index(fields=["webhook", "due"], condition=models.Q(state="waiting"), name="deliveries_due"),
        ]

    def __str__(self) -> str:
        return f"{self.event} of {self.key}"

    @property
    def is_test(self) -> bool:
        """Whether its owner sent it to try the webhook."""
        return self.event == TEST

    @property
    def about_url(self) -> str:
        """The page of what the event is about."""
        if self.topic == "webhook":
            return self.webhook.get_absolute_url()
        return reverse(_PAGES[self.topic], args=[self.key])
