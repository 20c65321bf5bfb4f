"""How many jobs one person may have, queued and running."""

from __future__ import annotations

from apps.accounts.models import User
from apps.accounts.quotas import JOBS_QUEUED, JOBS_RUNNING, Quota
from apps.jobs.models import Job


def _queued(user: User) -> int:
    return Job.objects.filter(owner=user, state=Job.State.QUEUED).count()


def _running(user: User) -> int:
    """Of the kind of which most run."""
    running = Job.objects.filter(owner=user, state=Job.State.RUNNING)
    return max(running.filter(kind=kind).count() for kind in Job.Kind)


QUOTAS = (
    Quota(
        JOBS_QUEUED,
        "Queued jobs",
        "JOBS_QUEUED_PER_USER",
        _queued,
        at_limit="You cannot submit another one until one starts or you cancel one.",
        refusal="You have {used} queued jobs, the most that one person may have. Wait until one starts, or cancel one.",
        unit="at a time",
    ),
    Quota(
        JOBS_RUNNING,
        "Running evaluations, and as many trainings",
        "JOBS_RUNNING_PER_USER",
        _running,
        at_limit="Your other jobs wait until one of them ends.",
        refusal="{used} of your jobs run, the most that one person may have. The others wait.",
        unit="at a time",
    ),
)
