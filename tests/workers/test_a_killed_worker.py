"""kill -9 of workers: nothing is lost, nothing is there twice."""

import psutil
import pytest

from apps.jobs.models import Job, Shard
from apps.leaderboard.models import Score
from tests.workers.environments import POISON, SLOW, STUCK
from tests.workers.processes import wait_until, worker
from tests.workers.records import Submit, assert_exactly_once, fresh


def test_kill_9_in_mid_job_loses_and_repeats_nothing(submit: Submit) -> None:
    job = submit(SLOW, 250)
    with worker() as first:
        wait_until(lambda: fresh(job).episodes_done > 0, "episodes are recorded")
        first.kill()
    assert 0 < fresh(job).episodes_done < 250, "it was killed in mid-job"
    with worker():
        wait_until(lambda: fresh(job).over, "the job is over")
    assert_exactly_once(job)
    assert job.events.filter(text__contains=", attempt 2").exists(), "another attempt finished the killed one's shard"


@pytest.mark.fault
def test_the_work_of_a_killed_worker_is_taken_up_while_the_others_are_busy(submit: Submit) -> None:
    stuck = submit(STUCK, 1)
    with (
        worker("--concurrency", "1", scheduler=False, queues="evaluate"),
        worker("--pool", "solo", "-n", "scheduler@%h", queues="reap"),
    ):
        wait_until(lambda: fresh(stuck).state == Job.State.RUNNING, "the only process is busy")
        job = submit(SLOW, 400)
        with worker("--pool", "solo", scheduler=False, queues="evaluate") as doomed:
            wait_until(lambda: fresh(job).episodes_done > 0, "episodes are recorded")
            doomed.kill()
        held = Shard.objects.filter(job=job, state=Shard.State.RUNNING)
        assert held.count() == 1, "it died while it held a shard"
        wait_until(lambda: not held.exists(), "the reaper took the shard back")
        with worker("--pool", "solo", scheduler=False, queues="evaluate"):
            wait_until(lambda: fresh(job).over, "the job is over")
        assert fresh(stuck).state == Job.State.RUNNING, "the other one was busy all the time"
    assert_exactly_once(job)


LONG_LEASE = {"LEASE_SECONDS": "3600", "HEARTBEAT_SECONDS": "0.5"}
"""Nothing goes on because a lease expires."""


def test_the_work_of_a_killed_pool_process_goes_on_at_once(submit: Submit) -> None:
    job = submit(SLOW, 250)
    with worker(scheduler=False, queues="evaluate", **LONG_LEASE) as pool:
        wait_until(lambda: fresh(job).episodes_done > 0, "episodes are recorded")
        holders = psutil.Process(pool.process.pid).children()
        for holder in holders:
            holder.kill()
        wait_until(lambda: fresh(job).over, "the job is over")
    assert_exactly_once(job)
    assert job.events.filter(text__contains="its worker died").exists()


@pytest.mark.fault
def test_a_worker_goes_on_with_the_work_of_a_killed_one_in_its_place(submit: Submit) -> None:
    job = submit(SLOW, 400)
    with worker("--pool", "solo", scheduler=False, queues="evaluate", **LONG_LEASE) as first:
        wait_until(lambda: fresh(job).episodes_done > 0, "episodes are recorded")
        first.kill()
    with worker("--pool", "solo", scheduler=False, queues="evaluate", **LONG_LEASE):
        wait_until(lambda: fresh(job).over, "the job is over")
    assert_exactly_once(job)


@pytest.mark.fault
@pytest.mark.parametrize("place", ["claimed", "played", "copied", "recorded"])
def test_kill_9_between_any_two_steps_loses_and_repeats_nothing(submit: Submit, place: str) -> None:
    job = submit(SLOW, 120)
    with worker("--pool", "solo", scheduler=False, FAIL_AT=place) as doomed:
        wait_until(lambda: doomed.process.poll() is not None, f"the worker killed itself at {place}")
    left = Shard.objects.get(job=job)
    assert left.state == Shard.State.RUNNING, "it died while it held the shard"
    assert (left.done > 0) == (place == "recorded")
    with worker():
        wait_until(lambda: fresh(job).over, "the job is over")
    assert_exactly_once(job)


@pytest.mark.fault
def test_kill_9_before_the_scores_are_written_leaves_them_to_the_reaper(submit: Submit) -> None:
    job = submit(benchmark="games")
    with worker("--pool", "solo", scheduler=False, FAIL_AT="ended") as doomed:
        wait_until(lambda: doomed.process.poll() is not None, "the worker killed itself", 120)
    assert fresh(job).state == Job.State.DONE
    assert not Score.objects.exists()
    with worker():
        wait_until(lambda: Score.objects.filter(job=job, env_id="").exists(), "the reaper wrote the scores")
    assert_exactly_once(job)
    environments = Score.objects.filter(job=job).exclude(env_id="").count()
    assert environments == len(job.spec["env_ids"])


@pytest.mark.fault
def test_a_shard_that_kills_its_worker_fails_after_three_attempts(submit: Submit) -> None:
    job = submit(POISON, 600)
    with worker():
        wait_until(lambda: fresh(job).over, "the job is over")
    job = fresh(job)
    assert job.state == Job.State.FAILED
    assert job.reason.startswith("Shard 1 (test:Poison-v0, seeds from 0) failed 3 times.")
    assert "its worker died" in job.reason
    shards = {shard.number: shard for shard in job.shards.all()}
    assert (shards[1].state, shards[1].attempt) == (Shard.State.FAILED, 3)
    assert all(shard.state in {Shard.State.DONE, Shard.State.CANCELLED} for n, shard in shards.items() if n != 1)
