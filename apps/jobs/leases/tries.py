"""Tries of an episode that are not stored, because it is played again."""

from __future__ import annotations

from django.db import transaction

from apps.episodes.ranked.closing import WHY_CLOSED
from apps.episodes.text import shortened, storable
from apps.jobs.changes import change
from apps.jobs.leases import Claim, owned
from apps.jobs.models import JobEvent
from apps.seasons.numbers import in_words, is_hidden
from gem.records import EpisodeRecord


@transaction.atomic
def discard(claim: Claim, record: EpisodeRecord) -> None:
    """Log that an episode ended in an error and is played again. What it used is in the books of the job."""
    if not owned(claim).exists():
        return
    seed = claim.hide_seed(record).identity.seed
    failure = WHY_CLOSED if is_hidden(seed) else storable(shortened(record.failure, 300))
    text = f"{record.identity.env_id} seed {in_words(seed)} is played again, after an error: {failure}"
    change(claim.job_id, JobEvent.Kind.EPISODES, text, tone=JobEvent.Tone.WARN)
