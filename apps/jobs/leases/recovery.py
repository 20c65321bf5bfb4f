"""The reaper: it takes back shards whose leases expired, and wakes workers for shards that wait."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Min
from django.db.models.functions import Now

from apps.holders import has_died
from apps.jobs.books.lost import book_lost, jobs_with_lost_requests
from apps.jobs.changes import MAX_WAKE_UPS, lock_shards, wake
from apps.jobs.leases.setbacks import fail_attempt, rest
from apps.jobs.models import Job, Shard
from apps.leases import RowsLocked, patient_transaction

logger = logging.getLogger(__name__)


def reap() -> int:
    """Take back shards with expired leases, and wake workers for waiting shards. Returns the number taken back.

    A job whose rows somebody holds locked is left for the next time, and the others are not kept waiting.
    """
    expired: dict[str, list[int]] = {}
    for shard_id, job_id in Shard.objects.filter(state=Shard.State.RUNNING).free().values_list("pk", "job_id"):
        expired.setdefault(job_id, []).append(shard_id)
    count = 0
    for job_id, shard_ids in expired.items():
        try:
            count += sum(_take_back(shard_id, job_id) for shard_id in shard_ids)
        except RowsLocked as locked:
            logger.warning("job %s: its lost shards cannot be taken back yet: %s", job_id, locked)
        except Exception:  # whatever is wrong with one job must not keep the others from their recovery
            logger.exception("job %s: its lost shards cannot be taken back", job_id)
    for job_id in jobs_with_lost_requests():
        book_lost(job_id)
    send_again()
    return count


def _take_back(shard_id: int, job_id: str) -> bool:
    """Take back a shard whose lease expired. Returns False if its lease holds again.

    Raises:
        RowsLocked: see `patient_transaction`.
    """
    with patient_transaction():
        lock_shards(job_id)
        shard = Shard.objects.filter(pk=shard_id, state=Shard.State.RUNNING).free().first()
        if shard is None:  # its worker renewed the lease, or another reaper was faster
            return False
        logger.warning("job %s shard %s: lease expired in attempt %s", job_id, shard.number, shard.attempt)
        if has_died(shard.lease_token):
            fail_attempt(shard, "its worker died")
        elif _postgres_restarted_during(shard):
            rest(shard, "The database was restarted.")
        else:
            fail_attempt(shard, "its worker stopped responding")
        book_lost(job_id)
        return True


def _postgres_restarted_during(shard: Shard) -> bool:
    """Whether Postgres started after the shard's lease was last renewed, so that its worker could not renew it."""
    assert shard.lease_until is not None
    renewed = shard.lease_until - timedelta(seconds=settings.LEASE_SECONDS)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_postmaster_start_time() > %s", [renewed])
        return bool(cursor.fetchone()[0])


@transaction.atomic
def send_again() -> int:
    """Wake workers for jobs whose shards have waited for longer than a lease lasts. Returns the number of messages.

    Each call writes the shards of few jobs, those first that have waited longest, however many jobs wait.
    """
    waiting = Shard.objects.filter(
        state=Shard.State.QUEUED,
        job__state__in=[Job.State.QUEUED, Job.State.RUNNING],
        sent__lt=Now() - timedelta(seconds=settings.LEASE_SECONDS),
    ).order_by()
    jobs = list(waiting.values_list("job_id").annotate(since=Min("sent")).order_by("since")[:MAX_WAKE_UPS])
    shards = waiting.filter(job__in=[job_id for job_id, _ in jobs])
    locked = list(shards.select_for_update(of=("self",), skip_locked=True).values_list("pk", "job_id"))
    Shard.objects.filter(pk__in=[pk for pk, _ in locked]).update(sent=Now())
    woken = {job_id for _, job_id in locked}
    for job_id in woken:
        wake(job_id)
    return len(woken)
