"""Turns of episodes."""

from __future__ import annotations

from django.db import models


class TurnManager(models.Manager["Turn"]):
    """Queries for turns. The states, which only slow environments store, are loaded on access."""

    def get_queryset(self) -> models.QuerySet[Turn]:
        """All turns, without loading their states."""
        return super().get_queryset().defer("state")


class Turn(models.Model):
    """One exchange: an action and the environment's response."""

    pk = models.CompositePrimaryKey("episode_id", "number")
    episode = models.ForeignKey(
        "episodes.Episode", models.CASCADE, related_name="turns", db_index=False
    )  # the key begins with it
    number = models.PositiveIntegerField()
    """The number of the turn; the first is 1."""
    seat = models.PositiveSmallIntegerField(default=0)
    action = models.TextField()
    observation = models.TextField()
    reward = models.FloatField()
    info = models.JSONField(default=dict)
    extra = models.JSONField(null=True, blank=True)
    """Data that is not from the environment: the agent's `note`, or what was `replaced` in the action."""
    seq = models.PositiveIntegerField(null=True, blank=True)
    """The episode's `seq` after this turn; empty if all turns were stored at once."""
    state = models.JSONField(null=True, blank=True)
    """The state of the environment after the turn, if a replay would take long (`Episode.slow`). It may hold secrets,
    so no page and no download shows it."""
    created = models.DateTimeField(auto_now_add=True)

    objects = TurnManager()

    class Meta:
        ordering = ["number"]

    def __str__(self) -> str:
        return f"turn {self.number}"

    concealed = False
    """Whether the action belongs to another seat and is still secret (see `apps.episodes.visibility`)."""

    @property
    def note(self) -> str:
        """The agent's reasoning, in words."""
        return str((self.extra or {}).get("note", ""))

    @property
    def replaced(self) -> str:
        """A sentence about characters of the action that were replaced because they cannot be stored."""
        return str((self.extra or {}).get("replaced", ""))
