"""Episodes of OpenEnv that have begun and are not written yet."""

from __future__ import annotations

from django.db import models

from apps.accounts.models import User
from apps.episodes.models import ID_LENGTH


class UnwrittenEpisode(models.Model):
    """An episode that a web process plays from its memory. Steps are answered before they are written.

    The row disappears in the transaction that writes the episode. If the process ends before that, nobody renews
    `leased_until`, and the scheduler writes an episode that has failed in its place.
    """

    id = models.CharField(primary_key=True, max_length=ID_LENGTH)
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    env_id = models.CharField(max_length=120)
    env_version = models.PositiveIntegerField()
    data_hash = models.CharField(max_length=64, blank=True)
    seed = models.BigIntegerField()
    seat_count = models.PositiveSmallIntegerField(default=1)
    holder = models.UUIDField()
    """The process that plays it."""
    leased_until = models.DateTimeField()

    class Meta:
        indexes = (
            models.Index(fields=["leased_until"], name="openenv_by_lease"),
            models.Index(fields=["holder"], name="openenv_by_holder"),
        )

    def __str__(self) -> str:
        return self.id
