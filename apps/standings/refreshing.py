"""What the scheduler's task does every half minute: measure jobs that are done, collect games, and fit what is new."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.db.models import F, Q

from apps.jobs.models import Job
from apps.leases import RowsLocked, patient_transaction
from apps.standings import games, measuring, people, profiles, ratings

logger = logging.getLogger(__name__)

TASK = "standings.refresh"
TASK_PROFILE = "standings.profile"
JOBS_AT_ONCE = 25
"""A site that has just got this table measures its old jobs in many calls, the newest first."""


def refresh() -> None:
    """Bring everything up to date. What fails does not keep the rest from being done."""
    duties: tuple[Callable[[], object], ...] = (measure, games.collect, ratings.refresh, people.refresh)
    for duty in duties:
        try:
            duty()
        except Exception:  # the next call tries again, whatever it is
            logger.exception("%s.%s failed", duty.__module__, duty.__name__)


def measure() -> int:
    """Measure evaluations that are done, and compose the profiles of their agents. Returns the number of jobs."""
    unmeasured = Q(result=None) | Q(result__ended__lt=F("ended"))  # those whose episodes were retried are over again
    waiting = Job.objects.evaluations().filter(unmeasured, state=Job.State.DONE).order_by("-ended")
    measured = [job.agent_id for job in waiting.select_related("batch")[:JOBS_AT_ONCE] if _measure(job)]
    for agent_id in set(measured):
        profiles.refresh(agent_id)
    return len(measured)


def _measure(job: Job) -> bool:
    try:
        with patient_transaction():
            measuring.record(job)
    except RowsLocked as locked:
        logger.warning("job %s cannot be measured yet: %s", job.pk, locked)
        return False
    except Exception:  # such as a specification that this version cannot read: the job is not looked at again
        logger.exception("job %s cannot be measured", job.pk)
        measuring.record_nothing(job)
    return True
