"""A worker that is frozen or cut off while it holds rows locked: the others recover its work and do not wait for it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from time import monotonic

import psutil
import psycopg
import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from django.test import override_settings

from apps.jobs import leases, operations
from apps.jobs.leases import recovery
from apps.jobs.models import Job, JobEvent, Shard
from apps.leases import LOCK_SECONDS, end_overdue_transactions
from gemweb.database.limits import BOUNDED_APPLICATION
from tests.workers.environments import SLOW
from tests.workers.processes import Worker, environment, wait_until, worker
from tests.workers.records import Submit, assert_exactly_once, fresh

LEASE_SECONDS = 6
LIMITS = {"LEASE_SECONDS": str(LEASE_SECONDS), "TRANSACTION_SECONDS": str(LEASE_SECONDS // 3)}
"""What a site has by default, with shorter leases."""


@contextmanager
def locked_elsewhere(shard: Shard) -> Iterator[None]:
    """Another connection holds a shard and its job locked while the block lasts, as a frozen worker does."""
    holds, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            Shard.objects.select_for_update().get(pk=shard.pk)
            Job.objects.select_for_update().get(pk=shard.job_id)
            holds.set()
            go_on.wait(60)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert holds.wait(60)
    try:
        yield
    finally:
        go_on.set()
        thread.join()


def expired_shard(job: Job) -> Shard:
    """A shard of the job whose worker is gone."""
    claim = leases.claim()
    assert claim is not None
    assert claim.job_id == job.pk
    Shard.objects.filter(pk=claim.shard_id).update(lease_until=Now())
    return Shard.objects.get(pk=claim.shard_id)


def test_a_locked_job_keeps_no_other_from_its_recovery(submit: Submit) -> None:
    stuck = expired_shard(submit(SLOW, 5))
    other = expired_shard(submit(SLOW, 5))
    with locked_elsewhere(stuck):
        began = monotonic()
        assert recovery.reap() == 1
        assert monotonic() - began < 100 * LOCK_SECONDS
        assert Shard.objects.get(pk=other.pk).state == Shard.State.QUEUED
        assert Shard.objects.get(pk=stuck.pk).state == Shard.State.RUNNING
    assert recovery.reap() == 1
    assert Shard.objects.get(pk=stuck.pk).state == Shard.State.QUEUED


def test_a_job_that_cannot_be_recovered_keeps_no_other_from_it(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    broken, other = expired_shard(submit(SLOW, 5)), expired_shard(submit(SLOW, 5))
    fail = recovery.fail_attempt

    def fail_one(shard: Shard, reason: str) -> None:
        if shard.pk == broken.pk:
            raise ValueError("whatever is wrong with it")
        fail(shard, reason)

    monkeypatch.setattr(recovery, "fail_attempt", fail_one)
    assert recovery.reap() == 1
    assert Shard.objects.get(pk=other.pk).state == Shard.State.QUEUED


@pytest.mark.usefixtures("owner")
def test_a_copy_whose_client_sends_nothing_more_is_ended() -> None:
    def end_overdue() -> int:
        with override_settings(TRANSACTION_SECONDS=0.1):  # no longer than this, or the pool would pass it on
            return end_overdue_transactions()

    with psycopg.connect(environment()["DATABASE_URL"], application_name=BOUNDED_APPLICATION) as stuck:
        stuck.execute("CREATE TEMPORARY TABLE held (word text)")
        with (
            pytest.raises(psycopg.OperationalError),
            stuck.cursor() as cursor,
            cursor.copy("COPY held FROM STDIN") as copy,
        ):
            copy.write("a\n")
            wait_until(lambda: end_overdue() == 1, "the reaper ends it")


def database_time() -> datetime:
    """Now, by the clock that leases follow."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def frozen(doomed: Worker) -> bool:
    """Whether one of the worker's processes stands still."""
    main = psutil.Process(doomed.process.pid)
    return any(each.status() == psutil.STATUS_STOPPED for each in (main, *main.children(recursive=True)))


@pytest.mark.fault
def test_a_worker_frozen_in_a_write_is_replaced_within_two_leases(submit: Submit) -> None:
    job = submit(SLOW, 120)
    with (
        worker(queues="reap", **LIMITS),
        worker("--pool", "solo", scheduler=False, FREEZE_AT="copied", **LIMITS) as stopped,
    ):
        wait_until(lambda: frozen(stopped), "the worker stands still in the middle of a write")
        frozen_at = database_time()
        lost = job.events.filter(kind=JobEvent.Kind.REQUEUED)
        wait_until(lost.exists, "its shard is for another worker")
        assert (lost.get().at - frozen_at).total_seconds() < 2 * LEASE_SECONDS, "in the time of the database"
        with worker(scheduler=False, **LIMITS):
            wait_until(lambda: fresh(job).over, "the job is over")
        assert_exactly_once(job)
        os.kill(stopped.process.pid, signal.SIGCONT)
        wait_until(lambda: "transaction timeout" in stopped.output(), "the thawed worker sees that its write is void")
        assert_exactly_once(job)


@pytest.mark.fault
def test_a_job_with_a_frozen_worker_can_be_cancelled(submit: Submit) -> None:
    job = submit(SLOW, 120)
    with worker("--pool", "solo", scheduler=False, FREEZE_AT="copied", **LIMITS) as stopped:
        wait_until(lambda: frozen(stopped), "the worker stands still in the middle of a write")
        assert job.owner is not None
        assert operations.cancel(job.pk, job.owner).state == Job.State.CANCELLED
    assert not Shard.objects.filter(job=job).exclude(state=Shard.State.CANCELLED).exists()
    assert JobEvent.objects.filter(job=job, kind=JobEvent.Kind.ENDED).count() == 1
