"""Rows that wait to be executed again: asked for at the end of their jobs, and woken by the reaper."""

from __future__ import annotations

from apps.admission.models import name_of
from apps.jobs.models import Job
from apps.leaderboard.models import Reexecution
from apps.queue import enqueue

TASK = "verify.rows"


def ask(job: Job) -> None:
    """Have the episodes of a ranked job executed again. A second call changes nothing."""
    Reexecution.objects.get_or_create(job=job, defaults={"person": name_of(job.owner_id)})
    enqueue(TASK, job.pk)


def wake_workers() -> int:
    """Send the messages about rows that may be executed now and that no worker has. Returns their number."""
    waiting = list(Reexecution.objects.waiting().affordable().free().values_list("pk", flat=True))
    for job_id in waiting:
        enqueue(TASK, job_id)
    return len(waiting)
