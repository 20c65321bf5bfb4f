"""The changes of duels, for their event streams."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from apps.episodes.models.episodes import Batch, Episode


class DuelChange(models.Model):
    """A change of a duel that its event stream tells: what happened in which of its episodes, in one order.

    Other changes, such as a pause, raise `Batch.seq` too and have no row.
    """

    class Kind(models.TextChoices):
        JOINED = "joined"
        TURN = "turn"
        ENDED = "ended"
        OVER = "over"

    pk = models.CompositePrimaryKey("duel_id", "seq")
    duel = models.ForeignKey(Batch, models.CASCADE, related_name="changes", db_index=False)
    seq = models.PositiveIntegerField()
    """The duel's `seq` after this change."""
    kind = models.CharField(max_length=8, choices=Kind.choices)
    episode = models.ForeignKey(Episode, models.CASCADE, null=True, blank=True, related_name="+")
    """The episode that changed; empty if all were over."""
    number = models.PositiveIntegerField(default=0)
    """Of a turn, its number; of the end of all episodes, how many there were."""
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["seq"]

    def __str__(self) -> str:
        return f"{self.kind} in {self.duel_id}"
