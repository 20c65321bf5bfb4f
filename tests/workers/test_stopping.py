"""Jobs are cancelled and workers are ended in the middle of their work."""

import time

from apps.jobs import operations
from apps.jobs.leases import recovery
from apps.jobs.models import Job, Shard
from tests.workers.environments import BROKEN, SLOW
from tests.workers.processes import wait_until, worker
from tests.workers.records import Submit, assert_exactly_once, fresh, play_out


def test_a_cancelled_job_stops_promptly_and_keeps_what_is_finished(submit: Submit) -> None:
    job = submit(SLOW, 2000)
    with worker():
        wait_until(lambda: fresh(job).episodes_done > 0, "episodes are recorded")
        assert job.owner is not None
        operations.cancel(job.pk, job.owner)
        kept = fresh(job).episodes_done
        follower = submit(SLOW, 10)
        wait_until(lambda: fresh(follower).over, "the workers are free for another job")
    job = fresh(job)
    assert job.state == Job.State.CANCELLED
    assert 0 < job.episodes_done == kept < 2000
    assert job.batch.episodes.count() == kept
    assert_exactly_once(follower)


def test_a_worker_told_to_end_gives_its_shard_back_at_once(submit: Submit) -> None:
    job = submit(SLOW, 2000)
    with worker() as running:
        wait_until(lambda: fresh(job).episodes_done > 0, "episodes are recorded")
        running.terminate()
    shards = list(job.shards.all())
    assert not [shard for shard in shards if shard.state == Shard.State.RUNNING]
    queued = [shard for shard in shards if shard.state == Shard.State.QUEUED]
    assert {shard.attempt for shard in queued} == {0}
    assert any(shard.done for shard in queued), "one was given back in its middle"
    assert fresh(job).state == Job.State.RUNNING


def test_an_environment_that_breaks_costs_one_episode(submit: Submit) -> None:
    job = submit(BROKEN, 30)
    play_out(job)
    assert_exactly_once(job)
    broken = job.batch.episodes.get(status="failed")
    assert (broken.seed, broken.failure) == (7, "OSError: the wire is cut")
    shard = job.shards.get()
    assert (shard.errors, shard.done) == (1, 30)
    assert job.events.filter(tone="loss", text__contains="seed 7: environment error, not counted").count() == 1


def test_a_heartbeat_outlives_a_lease(submit: Submit) -> None:
    """A shard that takes longer than its lease (2 s here) stays with its worker."""
    job = submit(SLOW, 250)
    started = time.monotonic()
    play_out(job)
    assert time.monotonic() - started > 2.5
    assert recovery.reap() == 0
    assert_exactly_once(job)
    assert job.shards.get().attempt == 1
