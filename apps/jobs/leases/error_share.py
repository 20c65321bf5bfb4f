"""Jobs fail if more of their episodes go uncounted than they allow (`EvaluationSpec.max_error_share`).

A job that is done is judged by all its episodes. One that runs is stopped as soon as that is no longer in doubt.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from django.db import transaction
from django.db.models import Sum

from apps.jobs.changes import drop_open_shards, end, lock_shards
from apps.jobs.models import Job, JobEvent, Shard
from gem.evaluation.spec import EvaluationSpec, read_stored

MIN_EPISODES = 20
"""A running job is not judged by fewer episodes than this."""
SIGMAS = 3.0
"""How many standard deviations above the permitted number the errors of a running job have to be."""


class Errors(NamedTuple):
    """The episodes of a job, and those of them that are not counted."""

    done: int
    errors: int
    unanswered: int
    planned: int


def stop_over_errors(job_id: str, spec: EvaluationSpec) -> bool:
    """End a running job as failed if it has too many errors. Returns whether it has. Finished episodes are kept.

    Call it outside of any transaction, because it locks all shards of the job.
    """
    if not has_surely_too_many(errors_of(job_id), spec.max_error_share):
        return False
    with transaction.atomic():
        lock_shards(job_id)
        reason = sentence(errors_of(job_id), spec.max_error_share)
        if end(job_id, Job.State.FAILED, reason, reason, JobEvent.Tone.LOSS):
            drop_open_shards(job_id)
    return True


def verdict(job_id: str) -> str:
    """Why a job whose episodes are all played has failed, in a sentence; empty if it has not."""
    share = read_stored(Job.objects.values_list("spec", flat=True).get(pk=job_id)).max_error_share
    found = errors_of(job_id)
    return sentence(found, share) if found.errors > share * found.done else ""


def errors_of(job_id: str) -> Errors:
    """The sums over the shards of a job, without the episodes that a person cancelled and dropped."""
    names = {"done": "done", "errors": "errors", "unanswered": "unanswered", "planned": "count"}
    sums = Shard.objects.filter(job=job_id).aggregate(
        cancelled=Sum("cancelled", default=0), **{name: Sum(column, default=0) for name, column in names.items()}
    )
    cancelled = sums.pop("cancelled")
    for name in ("done", "errors", "planned"):
        sums[name] -= cancelled
    return Errors(**sums)


def has_surely_too_many(found: Errors, share: float) -> bool:
    """Whether a running job will have too many errors: it has them already, or its share of errors is far above.

    "Far" is `SIGMAS` standard deviations of the number of errors that `share` would give. The job is looked at after
    every error, so a smaller distance would stop jobs that are within their share at the end.
    """
    if found.done < MIN_EPISODES:
        return False
    if found.errors > share * found.planned:
        return True
    return found.errors > share * found.done + SIGMAS * math.sqrt(share * (1 - share) * found.done)


def sentence(found: Errors, share: float) -> str:
    """What happened, and what to do."""
    kinds = [
        f"{number:,} {words}{'s' if number > 1 and words.endswith('error') else ''}"
        for number, words in (
            (found.errors - found.unanswered, "environment error"),
            (found.unanswered, "without an answer from the agent"),
        )
        if number
    ]
    return (
        f"{found.errors:,} of {found.done:,} episodes are not counted ({', '.join(kinds)}), and this job allows "
        f"{100 * share:g} %. The others are kept, but they may not be a fair sample. Fix the cause, or allow more "
        "errors, and submit the job again."
    )
