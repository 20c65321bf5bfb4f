"""When a person took the seat of an agent, what they left for it to read, and when they handed back."""

from __future__ import annotations

from django.conf import settings
from django.db import models

MAX_NOTE = 500
"""Characters of a note."""


class Handover(models.Model):
    """One event of a seat that a person took for some turns."""

    class Kind(models.TextChoices):
        TAKEN = "taken"
        NOTE = "note"
        RETURNED = "returned"

    episode = models.ForeignKey("episodes.Episode", models.CASCADE, related_name="handovers")
    seat = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=8, choices=Kind.choices)
    after = models.PositiveIntegerField()
    """The number of turns that were played before."""
    text = models.CharField(max_length=MAX_NOTE, blank=True, default="")
    """Of a note: what it says."""
    read_in = models.PositiveIntegerField(null=True, blank=True)
    """Of a note: the turn before which the agent read it; empty until then."""
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    visitor = models.CharField(max_length=32, blank=True, default="")
    seq = models.PositiveIntegerField()
    """The episode's `seq` after it."""
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["seq", "id"]

    def __str__(self) -> str:
        return f"{self.kind} in {self.episode_id} after turn {self.after}"
