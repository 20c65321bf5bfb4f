"""The operations of an owner on an evaluation: describe, archive, delete; and what is left of deleted ones."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from apps.accounts.models import User
from apps.episodes.models import Batch, Episode
from apps.jobs.changes import lock_shards
from apps.jobs.errors import CannotDelete, NotYours
from apps.jobs.models import Job
from apps.leases import RowsLocked, patient_transaction
from apps.live import recheck_access
from apps.play.personal_data import delete_in_chunks
from apps.visibility import Visibility

logger = logging.getLogger(__name__)

ERASING_SECONDS = 3.0
"""How long `erase` works at a time, so that the scheduler has time for its other duties."""
being_recorded: list[Callable[[], QuerySet[Batch]]] = []
"""Batches that have no job before all of their episodes are recorded. Upper apps add theirs in `AppConfig.ready`."""


@dataclass(frozen=True, slots=True)
class Description:
    """What the owner of a job says about it."""

    name: str = ""
    notes: str = ""
    tags: Sequence[str] = ()


@transaction.atomic
def describe(job_id: str, by: User, description: Description) -> Job:
    """Change the name, the notes and the tags of a job.

    Raises:
        NotYours: if `by` is not its owner.
        Job.DoesNotExist: if there is no such job.
    """
    job = _own(job_id, by, "change what it is called")
    job.name, job.notes, job.tags = description.name, description.notes, list(description.tags)
    job.save(update_fields=["name", "notes", "tags"])
    return job


@transaction.atomic
def set_archived(job_id: str, by: User, *, archived: bool) -> Job:
    """Take a job out of the lists, or put it back. Its page, its episodes and its scores stay as they are.

    Raises:
        NotYours, Job.DoesNotExist: as `describe`.
    """
    job = _own(job_id, by, "archive it")
    if bool(job.archived) is not archived:
        job.archived = timezone.now() if archived else None
        job.save(update_fields=["archived"])
    return job


def reason_to_keep(job: Job) -> str:
    """Why a job cannot be deleted, as a sentence; empty if it can."""
    if not job.over:
        return "The job has not ended. Cancel it first; nothing was deleted."
    if job.plays_hidden_seeds:
        return (
            "This evaluation counts as a try, so it cannot be deleted. You can archive it, which removes it from the "
            "lists of jobs."
        )
    has_scores = job.scores.exists()
    awaits_scores = job.state == Job.State.DONE and job.spec.get("benchmark") and int(job.spec.get("repeats", 1)) == 1
    if has_scores or (awaits_scores and not job.shards.filter(unanswered__gt=0).exists()):
        return (
            "This evaluation is ranked: a row of the leaderboard depends on its episodes, so it cannot be deleted. "
            "You can archive it, which removes it from the lists of jobs."
        )
    return ""


@transaction.atomic
def delete(job_id: str, by: User) -> None:
    """Delete an evaluation with its results, its log and its episodes. What people forked from these stays theirs.

    Only those who run the site can open the episodes from now on; the scheduler deletes them in small steps (`erase`).

    Raises:
        CannotDelete: if it has not ended, or is ranked.
        NotYours, Job.DoesNotExist: as `describe`.
    """
    lock_shards(job_id)
    job = _own(job_id, by, "delete it")
    if reason := reason_to_keep(job):
        raise CannotDelete(reason)
    Batch.objects.filter(pk=job.batch_id).update(visibility=Visibility.PRIVATE)
    recheck_access(f"job:{job.pk}")
    job.delete()


def erase(seconds: float = ERASING_SECONDS) -> int:
    """Delete episodes whose job was deleted, for some seconds. Returns the number of jobs of which nothing is left.

    It may be interrupted at any time, and the next call goes on. Batches that are still being recorded stay.
    """
    number = 0
    deadline = monotonic() + seconds
    without_job = Batch.objects.filter(kind=Batch.Kind.JOB, job=None)
    for batches in being_recorded:
        without_job = without_job.exclude(pk__in=batches().values("pk"))
    for batch_id in list(without_job.values_list("pk", flat=True)):
        try:
            for _ in delete_in_chunks(Episode.objects.filter(batch=batch_id)):
                if monotonic() > deadline:
                    return number
            with patient_transaction():
                Batch.objects.filter(pk=batch_id).delete()
            number += 1
        except RowsLocked as locked:
            logger.warning("the episodes of a deleted job cannot be deleted yet: %s", locked)
    return number


def _own(job_id: str, by: User, what: str) -> Job:
    """The evaluation, locked."""
    job = Job.objects.evaluations().select_for_update(no_key=True).get(pk=job_id)
    if job.owner_id != by.pk:
        raise NotYours(f"This job belongs to somebody else. Only its owner can {what}.")
    return job
