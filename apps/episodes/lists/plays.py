"""Counts how often each environment is played, for the catalog (`apps.catalog.plays`)."""

from __future__ import annotations

from django.db.models import Count, Q

from apps.catalog import plays
from apps.episodes.models import Batch, Episode


def count_if_due() -> None:
    """Count the public episodes of people, shows and duels, unless that was done a short time ago.

    Episodes of jobs and those that the site plays itself do not count.
    """
    if plays.are_fresh():
        return
    played = Episode.objects.published().filter(Q(batch=None) | Q(batch__kind=Batch.Kind.DUEL), of_job=False)
    counts = played.order_by().values_list("env_id").annotate(n=Count("pk"))
    plays.keep(dict(counts))
