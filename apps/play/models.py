"""Shows: live episodes that agents play while people watch."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from apps.admission.models import Admitted
from apps.episodes.models import Episode
from apps.episodes.snapshot import Snapshot, public_snapshot
from apps.leases import LeasedQuerySet


class Show(Admitted):
    """A live episode that `workers.play` plays, with its pace and whether it is paused.

    A worker owns the show while its lease lasts. After that another worker may continue from the last turn.
    """

    episode = models.OneToOneField(Episode, models.CASCADE, primary_key=True, related_name="show")
    pace = models.FloatField(default=1.0)
    """Seconds per turn."""
    paused = models.BooleanField(default=False)
    turns_due = models.PositiveIntegerField(default=0)
    """The number of turns still to play while paused: one for each press of "One turn"."""
    lock_step = models.BooleanField(default=False, db_default=False)
    """In a duel: whether it waits at every turn until the other running episodes have caught up."""
    trouble = models.TextField(blank=True, default="", db_default="")
    """Why it was paused automatically: the agent gave no answer. Resuming asks the agent again."""
    next_turn_at = models.DateTimeField(null=True, blank=True)
    showcase = models.BooleanField(default=False)
    """Whether it belongs to the showcase: it plays only while somebody watches, and only the last ones are kept."""
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)
    visitor = models.CharField(max_length=32, blank=True)

    objects = LeasedQuerySet["Show"].as_manager()

    class Meta:
        indexes = [models.Index(fields=["lease_until"])]

    def __str__(self) -> str:
        return f"show of {self.episode}"


class Showcase(models.Model):
    """What the home page shows: a single row that points to one episode after another."""

    MAIN = "main"

    key = models.CharField(primary_key=True, max_length=20, default=MAIN)
    episode = models.ForeignKey(Episode, models.SET_NULL, null=True, blank=True, related_name="+")
    number = models.PositiveIntegerField(default=0)
    """The number of episodes started so far, which determines the next environment."""
    seq = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"showcase {self.key}"

    @property
    def shot(self) -> Snapshot | None:
        """A snapshot of its episode, as spectators see it."""
        return public_snapshot(self.episode) if self.episode else None


class PendingTrial(Admitted):
    """A program that a person wants to try on the tests that its problem shows: it waits for a worker, or one runs it.

    One for each episode; the results are in the cache (`apps.play.bench.trials`).
    """

    episode = models.OneToOneField(Episode, models.CASCADE, primary_key=True, related_name="+")
    program = models.TextField()
    created = models.DateTimeField(auto_now_add=True)

    objects = LeasedQuerySet["PendingTrial"].as_manager()

    def __str__(self) -> str:
        return f"trial of {self.pk}"


class BegunByForm(models.Model):
    """An episode that a form began, so that the same form sent again leads to it (`apps.play.starting.once`)."""

    pk = models.CompositePrimaryKey("digest", "number")
    digest = models.CharField(max_length=64)
    """The SHA-256 digest of the form, its key, and who sent it."""
    number = models.PositiveSmallIntegerField()
    """Its number among the episodes that the form began together."""
    episode = models.ForeignKey(Episode, models.CASCADE, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["number"]
        indexes = [models.Index(fields=["created"], name="begun_by_forms_by_time")]

    def __str__(self) -> str:
        return f"{self.episode_id} of a form"


class GuestName(models.Model):
    """The name that a person without an account goes by in games with others."""

    visitor = models.CharField(primary_key=True, max_length=32)
    name = models.CharField(max_length=24)
    changed = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.name


class OpenInvitation(models.Model):
    """A free seat that anybody may take from the lobby, for as long as the person who offers it waits on the page."""

    episode = models.OneToOneField(Episode, models.CASCADE, primary_key=True, related_name="invitation")
    env_id = models.CharField(max_length=120)
    number = models.PositiveSmallIntegerField()
    """The free seat."""
    created = models.DateTimeField(auto_now_add=True)
    seen = models.DateTimeField(auto_now_add=True)
    """When the page of the person who waits was last open."""

    class Meta:
        indexes = [models.Index(fields=["-seen"], name="invitations_by_time")]

    def __str__(self) -> str:
        return f"open seat {self.number} of {self.episode_id}"


class Rematch(models.Model):
    """The game that the same people play after another one, with the seats exchanged."""

    after = models.OneToOneField(Episode, models.CASCADE, primary_key=True, related_name="rematch")
    episode = models.OneToOneField(Episode, models.CASCADE, related_name="+")

    def __str__(self) -> str:
        return f"{self.episode_id} after {self.after_id}"
