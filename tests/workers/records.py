"""What a job must look like at its end."""

from collections.abc import Callable

from django.db.models import Count

from apps.episodes.models import Episode, Seat, Turn
from apps.jobs.models import Job, Shard
from gemweb import celery  # noqa: F401 (tasks belong to the app that exists when they are imported)
from workers import evaluate

Submit = Callable[..., Job]
"""The fixture `submit`."""
CALLS_AT_MOST = 50


def play_out(job: Job) -> Job:
    """Do in this process what workers do, until the job is over; the job as it is then."""
    for _ in range(CALLS_AT_MOST):
        if fresh(job).over:
            return fresh(job)
        evaluate.shards(job.pk)
    raise AssertionError(f"{job} is still {fresh(job).state} after {CALLS_AT_MOST} calls of the task")


def fresh(job: Job) -> Job:
    """The job as it is now."""
    return Job.objects.get(pk=job.pk)


def assert_exactly_once(job: Job) -> None:
    """Every episode of a job that is done is there once, with its seat and all of its turns."""
    job = fresh(job)
    assert job.state == Job.State.DONE, job.reason
    episodes = Episode.objects.filter(batch=job.batch_id)
    assert sorted(episodes.values_list("slot", flat=True)) == list(range(job.episodes_total))
    assert job.episodes_done == job.episodes_total
    assert all(shard.done == shard.count for shard in job.shards.all())
    counts = dict(episodes.values_list("pk", "turn_count"))
    turns = Turn.objects.filter(episode__in=episodes).values("episode").order_by()
    assert dict(turns.annotate(there=Count("number")).values_list("episode", "there")) == {
        key: count for key, count in counts.items() if count
    }
    assert sorted(Seat.objects.filter(episode__in=episodes).values_list("episode", flat=True)) == sorted(counts)
    assert job.turns_done == sum(counts.values())
    assert list(job.events.values_list("seq", flat=True)) == list(range(1, job.seq + 1))
    assert not Shard.objects.filter(job=job).exclude(lease_token=None).exists()
