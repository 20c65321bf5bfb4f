"""Live episodes that agents play while people watch."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from apps.episodes.models import Episode
from apps.episodes.snapshot import Snapshot, public_snapshot
from apps.leases import Leased, LeasedQuerySet


class Show(Leased):
    """A live episode that `workers.play` plays, and how: its pace, and whether it pauses.

    The worker owns it while its lease lasts; after that another one may go on from the last turn.
    """

    episode = models.OneToOneField(Episode, models.CASCADE, primary_key=True, related_name="show")
    pace = models.FloatField(default=1.0)
    """Seconds from one turn to the next."""
    paused = models.BooleanField(default=False)
    turns_due = models.PositiveIntegerField(default=0)
    """Turns to take although it is paused: "one turn" was pressed so often."""
    lock_step = models.BooleanField(default=False, db_default=False)
    """In a duel: it takes no turn before the others that are still played have taken as many."""
    trouble = models.TextField(blank=True, default="", db_default="")
    """Why it pauses by itself: the agent gave no answer. Resuming asks again."""
    next_turn_at = models.DateTimeField(null=True, blank=True)
    showcase = models.BooleanField(default=False)
    """Plays only while somebody watches; only the last few are kept."""
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)
    visitor = models.CharField(max_length=32, blank=True)

    objects = LeasedQuerySet["Show"].as_manager()

    class Meta:
        indexes = [models.Index(fields=["lease_until"])]

    def __str__(self) -> str:
        return f"show of {self.episode}"


class Showcase(models.Model):
    """The show that the home page follows: always the same row, one episode after another."""

    MAIN = "main"

    key = models.CharField(primary_key=True, max_length=20, default=MAIN)
    episode = models.ForeignKey(Episode, models.SET_NULL, null=True, blank=True, related_name="+")
    number = models.PositiveIntegerField(default=0)
    """How many episodes it has begun; says which environment comes next."""
    seq = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"showcase {self.key}"

    @property
    def shot(self) -> Snapshot | None:
        """Its episode as a page shows it."""
        return public_snapshot(self.episode) if self.episode else None
