"""Reports about content, and the log of what administrators have hidden and shown again."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Report(models.Model):
    """What somebody thinks is wrong with an episode, a duel, an agent or a job."""

    kind = models.CharField(max_length=20)
    """The name of a `ModeratedKind`."""
    key = models.CharField(max_length=60)
    reason = models.TextField()
    reporter = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    """None for visitors, and for accounts that were deleted."""
    created = models.DateTimeField(auto_now_add=True)
    closed = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created"]
        indexes = [models.Index(fields=["-created"], condition=models.Q(closed=None), name="open_reports")]

    def __str__(self) -> str:
        return f"report about {self.kind} {self.key}"


class Decision(models.Model):
    """What an administrator decided. The table is append-only: the database refuses to change or delete its rows."""

    class Verb(models.TextChoices):
        HIDE = "hide", "hidden"
        SHOW = "show", "shown again"
        DISMISS = "dismiss", "report dismissed"
        FLAG = "flag", "flagged"
        WITHDRAW = "withdraw", "withdrawn"
        RESTORE = "restore", "restored"

    verb = models.CharField(max_length=8, choices=Verb.choices)
    kind = models.CharField(max_length=20)
    key = models.CharField(max_length=60)
    reason = models.TextField(blank=True)
    by = models.CharField(max_length=150)
    """The administrator's name at that time, which stays when the account is deleted."""
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-at", "-pk"]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}: {self.get_verb_display()} by {self.by}"
