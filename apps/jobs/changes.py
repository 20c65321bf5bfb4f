"""What every write to a job is made of: locks in one order, and each change with its event.

Rows are locked in one order, shards before their job, so that no two writers wait for each other. Each change raises
`Job.seq`, leaves a `JobEvent` and is published, in one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import F
from django.db.models.functions import Now

from apps.jobs.models import Job, JobEvent, Shard
from apps.live import publish
from apps.queue import enqueue

WAKE_UPS = 16
"""At most so many messages tell workers of a job: each worker goes on until nothing is left."""


def lock_shards(job_id: str) -> None:
    """Lock all shards of a job, in the order that everybody locks them in."""
    list(Shard.objects.select_for_update().filter(job=job_id).order_by("pk").values_list("pk"))


def drop_open_shards(job_id: str) -> None:
    """Cancel the shards of a job that are not over (locked); workers notice by their lease."""
    Shard.objects.filter(job=job_id, state__in=[Shard.State.QUEUED, Shard.State.RUNNING]).release(
        state=Shard.State.CANCELLED
    )


def end(job_id: str, state: Job.State, reason: str, text: str, tone: JobEvent.Tone = JobEvent.Tone.PLAIN) -> bool:
    """Move a job that is not over to its last state; whether it was this call that did it."""
    ended = Job.objects.active().filter(pk=job_id).update(state=state, reason=reason, ended=Now())
    if ended:
        change(job_id, JobEvent.Kind.ENDED, text, tone=tone)
    return bool(ended)


def change(
    job_id: str,
    kind: JobEvent.Kind,
    text: str,
    *,
    tone: JobEvent.Tone = JobEvent.Tone.PLAIN,
    slots: Sequence[int] = (),
) -> None:
    """Raise the job's `seq`, write down why, and tell the pages that watch it."""
    Job.objects.filter(pk=job_id).update(seq=F("seq") + 1)
    seq = Job.objects.values_list("seq", flat=True).get(pk=job_id)
    JobEvent.objects.create(job_id=job_id, seq=seq, kind=kind, tone=tone, text=text, slots=list(slots))
    publish(f"job:{job_id}", seq)


TASKS = {Job.Kind.EVALUATION.value: "evaluate.shards", Job.Kind.TRAINING.value: "train.run"}


def wake(job_id: str, messages: int = 1) -> None:
    """Tell workers that the job has something to do."""
    task = TASKS[Job.objects.values_list("kind", flat=True).get(pk=job_id)]
    for _ in range(min(messages, WAKE_UPS)):
        enqueue(task, job_id)
