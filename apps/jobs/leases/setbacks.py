"""What happens to a claimed shard when something fails: a pause, another attempt, or the end of its job."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from apps.episodes.text import shortened, storable
from apps.jobs.changes import change, drop_open_shards, end, lock_shards, wake
from apps.jobs.leases.claims import ATTEMPTS_BEFORE, Claim, owned
from apps.jobs.models import Job, JobEvent, Shard
from apps.seasons.numbers import in_words

FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 2.0, 300.0
"""How long a shard rests after a fault of the infrastructure. Each further one without progress doubles the pause."""
MAX_SETBACKS = 5
"""So many setbacks without progress count as an attempt, if the work may cause the last one itself."""
MAX_REASON_CHARS = 2000
"""The reason of a failure is cut to this length, because an exception may have a message of any length."""


@transaction.atomic
def postpone(claim: Claim, reason: str, *, may_be_of_the_work: bool = False) -> None:
    """Queue the shard again after a pause, because of a fault of the infrastructure. This does not count as an attempt.

    Does nothing if the lease is lost.

    Args:
        may_be_of_the_work: whether the work may cause the fault itself. Then every `MAX_SETBACKS` without progress
            count as one attempt, so that a shard that can never be written is not played for ever.
    """
    if may_be_of_the_work:
        lock_shards(claim.job_id)
    shard = owned(claim).select_for_update().first()
    if shard is None:
        return
    if may_be_of_the_work and shard.setbacks + 1 >= MAX_SETBACKS:
        fail_attempt(shard, reason)
    else:
        rest(shard, reason)


def rest(shard: Shard, reason: str) -> None:
    """Queue a shard, which the caller has locked, for the time after its pause. The reaper sends the message then."""
    seconds = min(FIRST_PAUSE_SECONDS * 2 ** min(shard.setbacks, 20), MAX_PAUSE_SECONDS)
    pause = timedelta(seconds=seconds)
    Shard.objects.filter(pk=shard.pk).release(
        state=Shard.State.QUEUED,
        attempt=ATTEMPTS_BEFORE,
        setbacks=F("setbacks") + 1,
        rests_until=Now() + pause,
        reason=reason,
        sent=Now() + pause - timedelta(seconds=settings.LEASE_SECONDS),
    )
    text = f"shard {shard.number} goes on in {seconds:.0f} s, and nothing is lost. {reason}"
    data = {"shard": shard.number, "reason": reason}
    change(shard.job_id, JobEvent.Kind.REQUEUED, text, tone=JobEvent.Tone.WARN, data=data)


@transaction.atomic
def fail_shard(claim: Claim, reason: str) -> None:
    """Queue the shard again, or end the job as failed after the last attempt. Does nothing if the lease is lost."""
    lock_shards(claim.job_id)
    shard = owned(claim).first()
    if shard is not None:
        fail_attempt(shard, reason)


@transaction.atomic
def fail_job(claim: Claim, reason: str) -> None:
    """End the job as failed, because its agent cannot play: another attempt would fail in the same way."""
    lock_shards(claim.job_id)
    shard = owned(claim).first()
    if shard is None:
        return
    reason = storable(shortened(reason, MAX_REASON_CHARS))
    Shard.objects.filter(pk=shard.pk).release(state=Shard.State.FAILED, reason=reason)
    if end(claim.job_id, Job.State.FAILED, reason, reason, JobEvent.Tone.LOSS):
        drop_open_shards(claim.job_id)


def fail_attempt(shard: Shard, reason: str) -> None:
    """Queue a shard again whose attempt failed, or end its job. The caller has locked all shards of the job."""
    reason = storable(shortened(reason, MAX_REASON_CHARS))
    if shard.attempt < settings.MAX_ATTEMPTS:
        Shard.objects.filter(pk=shard.pk).release(state=Shard.State.QUEUED, setbacks=0, reason=reason, sent=Now())
        attempt = f"attempt {shard.attempt} of {settings.MAX_ATTEMPTS}"
        text = f"shard {shard.number} will be tried again, {attempt} failed: {reason}"
        data = {"shard": shard.number, "reason": reason}
        change(shard.job_id, JobEvent.Kind.REQUEUED, text, tone=JobEvent.Tone.WARN, data=data)
        wake(shard.job_id)
        return
    Shard.objects.filter(pk=shard.pk).release(state=Shard.State.FAILED, reason=reason)
    sentence = (
        f"Shard {shard.number} ({shard.env_id}, seeds from {in_words(shard.first_seed)}) failed {shard.attempt} times. "
        f"The last failure: {reason}"
    )
    if end(shard.job_id, Job.State.FAILED, sentence, sentence, JobEvent.Tone.LOSS):
        drop_open_shards(shard.job_id)
