"""What waits for a worker: turns of slow environments, verifications of slow episodes, questions to the expert."""

from __future__ import annotations

from django.db import models

from apps.admission.models import Admitted
from apps.episodes.models.episodes import Episode
from apps.leases import LeasedQuerySet


class PendingTurn(Admitted):
    """An accepted turn that a worker has still to play, because its environment is slow.

    A worker owns it while its lease lasts; after that another worker plays it from the same state. A turn with a
    `problem` was not played and is not retried; its player may send the same or another action.
    """

    episode = models.OneToOneField(Episode, models.CASCADE, primary_key=True, related_name="pending")
    number = models.PositiveIntegerField()
    """The number that the turn will have."""
    seat = models.PositiveSmallIntegerField(default=0)
    action = models.TextField()
    replaced = models.TextField(blank=True)
    """A sentence about characters of the action that were replaced because they cannot be stored."""
    problem = models.TextField(blank=True)
    """Why it was not played, in a sentence; empty while it waits or is played."""
    created = models.DateTimeField(auto_now_add=True)

    objects = LeasedQuerySet["PendingTurn"].as_manager()

    class Meta:
        indexes = [models.Index(fields=["lease_until"])]

    def __str__(self) -> str:
        return f"turn {self.number} of {self.episode_id}, pending"


class PendingVerification(Admitted):
    """A slow episode that somebody wants verified: it waits for a worker, or one replays it now."""

    episode = models.OneToOneField(Episode, models.CASCADE, primary_key=True, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    objects = LeasedQuerySet["PendingVerification"].as_manager()

    def __str__(self) -> str:
        return f"verification of {self.pk}"


class PendingMistakes(Admitted):
    """An episode about which somebody asks the expert where it went wrong: it waits for a worker, or one looks now."""

    episode = models.OneToOneField(Episode, models.CASCADE, primary_key=True, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    objects = LeasedQuerySet["PendingMistakes"].as_manager()

    def __str__(self) -> str:
        return f"mistakes of {self.pk}"
