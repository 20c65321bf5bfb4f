"""Which job is served next: the lines of evaluations and of trainings.

A worker claims a shard of the person who was served longest ago, and of that person's running jobs and oldest queued
job the one that was served longest ago. So shards of different people alternate, whatever they take and however many
jobs each person has, and so do the jobs of one person. Among these, and only among these, a higher priority comes
first. A worker that has played long gives its shard back if another person waits with less (`should_yield`).

The jobs of the site itself, which have no owner, come after those of all people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection

from apps.accounts import quotas
from apps.admission.line import UNLIMITED, note_served
from apps.admission.models import name_of
from apps.jobs.models import Job

_NEXT_JOBS = """
WITH RECURSIVE owner(id) AS (
    SELECT min(coalesce(owner_id, 0)) FROM jobs_job WHERE kind = %(kind)s AND state IN ('queued', 'running')
    UNION ALL
    SELECT (SELECT min(coalesce(owner_id, 0)) FROM jobs_job
            WHERE kind = %(kind)s AND state IN ('queued', 'running') AND coalesce(owner_id, 0) > owner.id)
    FROM owner WHERE owner.id IS NOT NULL
),
running AS (
    SELECT coalesce(job.owner_id, 0) AS owner_id, count(DISTINCT shard.lease_token) AS workers
    FROM jobs_shard shard JOIN jobs_job job ON job.id = shard.job_id
    WHERE shard.state = 'running' AND job.kind = %(kind)s
    GROUP BY 1
)
SELECT job.id, job.state, job.owner_id, coalesce(running.workers, 0), job.priority
FROM owner
LEFT JOIN admission_party party ON party.line = %(kind)s AND party.name = 'user:' || owner.id
LEFT JOIN running ON running.owner_id = owner.id
LEFT JOIN accounts_quotaoverride override ON override.user_id = owner.id AND override.quota = %(quota)s
CROSS JOIN LATERAL (
    (SELECT id, state, owner_id, priority, served, created FROM jobs_job job
     WHERE kind = %(kind)s AND coalesce(owner_id, 0) = owner.id AND state = 'running' AND {has_work}
     ORDER BY priority DESC, served NULLS FIRST, created LIMIT %(few)s)
    UNION ALL
    (SELECT id, state, owner_id, priority, served, created FROM jobs_job job
     WHERE kind = %(kind)s AND coalesce(owner_id, 0) = owner.id AND state = 'queued' AND {has_work}
       AND (owner.id = 0 OR (SELECT count(*) FROM jobs_job other WHERE other.kind = %(kind)s
            AND coalesce(other.owner_id, 0) = owner.id AND other.state = 'running')
           < CASE WHEN override.id IS NULL THEN %(most)s ELSE coalesce(override.most, %(unlimited)s) END)
     ORDER BY priority DESC, created LIMIT %(few)s)
) job
WHERE owner.id IS NOT NULL AND owner.id <> ALL(%(over_cpu)s::bigint[])
ORDER BY owner.id = 0, party.served NULLS FIRST, owner.id,
    job.priority DESC, job.served NULLS FIRST, job.created, job.id
LIMIT 100
"""
_HAS_WORK = """
EXISTS (SELECT FROM jobs_shard shard WHERE shard.job_id = job.id AND shard.state = 'queued'
        AND (shard.rests_until IS NULL OR shard.rests_until <= now()))
    AND (max_workers IS NULL OR max_workers > (
        SELECT count(DISTINCT shard.lease_token) FROM jobs_shard shard
        WHERE shard.job_id = job.id AND shard.state = 'running'))
"""
SLICE_SECONDS = 5.0
"""For so long a worker plays a shard before it gives it back if somebody else waits."""
_FEW = 3
"""Jobs of one person that are looked at; other workers may be claiming the last shard of one."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job with a shard that can be claimed."""

    job_id: str
    starts: bool
    """Whether the job would start with this shard."""
    owner_id: int | None
    workers: int
    """Workers that play for its owner, in all their jobs."""
    priority: int


def next_jobs(kind: Job.Kind) -> list[Candidate]:
    """Jobs with shards that can be claimed now, in the order in which they are served.

    It reads few rows of each person, however many jobs there are. Those of people who have used up their CPU seconds
    wait until midnight, UTC.
    """
    with connection.cursor() as cursor:
        cursor.execute(*_query(kind))
        return [Candidate(row[0], row[1] == Job.State.QUEUED, *row[2:]) for row in cursor.fetchall()]


def _query(kind: Job.Kind) -> tuple[str, dict[str, Any]]:
    """The query of `next_jobs` and its values."""
    return _NEXT_JOBS.format(has_work=_HAS_WORK), {
        "kind": kind.value,
        "quota": quotas.JOBS_RUNNING,
        "most": settings.JOBS_RUNNING_PER_USER,
        "unlimited": UNLIMITED,
        "over_cpu": quotas.people_over_cpu(),
        "few": _FEW,
    }


def note(kind: str, owner_id: int | None) -> None:
    """Note that the owner was served, so that everybody else is served before them. The site counts as person 0."""
    note_served(kind, [name_of(owner_id or 0)])


def should_yield(shard_id: int, job_id: str) -> bool:
    """Whether a worker should give this running shard back, because somebody else waits and has less.

    That is somebody for whom no worker plays, or at least two fewer than for the owner of this shard. Of the running
    shards of one person only the first is given back. Those of the site are given back to whoever waits.
    """
    job = Job.objects.only("kind", "owner_id").get(pk=job_id)
    others = [
        candidate for candidate in next_jobs(Job.Kind(job.kind)) if candidate.owner_id not in (None, job.owner_id)
    ]
    if job.owner_id is None:
        return bool(others)
    first, workers = _running_shards_of(job)
    if first != shard_id:
        return False
    return any(not other.workers or other.workers + 1 < workers for other in others)


def goes_on(job_id: str, owner_id: int | None, *, before_own_jobs: bool) -> bool:
    """Whether a worker that plays a job may begin a further shard of it, because nobody is to be served before.

    Args:
        before_own_jobs: whether other jobs of its owner wait meanwhile, unless they are more urgent.
    """
    following = next(iter(next_jobs(Job.Kind.EVALUATION)), None)
    if following is not None and following.job_id == job_id:
        return True
    if owner_id is not None and owner_id in quotas.people_over_cpu():
        return False
    if following is None:  # its own shards are not among them if the job has as many workers as it may
        return True
    if not before_own_jobs or following.owner_id != owner_id:
        return False
    return following.priority <= Job.objects.values_list("priority", flat=True).get(pk=job_id)


def _running_shards_of(job: Job) -> tuple[int | None, int]:
    """The first running shard of the job's owner, and how many workers play for this person."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT min(shard.id), count(DISTINCT shard.lease_token)
            FROM jobs_shard shard JOIN jobs_job job ON job.id = shard.job_id
            WHERE shard.state = 'running' AND job.kind = %s AND coalesce(job.owner_id, 0) = %s
            """,
            [job.kind, job.owner_id or 0],
        )
        first, workers = cursor.fetchone()
        return first, workers


_AHEAD = """
WITH mine AS (
    SELECT count(*) + %(new)s AS round FROM jobs_job
    WHERE kind = %(kind)s AND state = 'queued' AND coalesce(owner_id, 0) = %(owner)s
      AND (-priority, created, id) <= (-%(priority)s, %(created)s, %(id)s)
)
SELECT sum(least(coalesce(waiting.number, 0), mine.round)) + mine.round - 1
FROM mine LEFT JOIN (
    SELECT coalesce(owner_id, 0) AS owner_id, count(*) AS number FROM jobs_job
    WHERE kind = %(kind)s AND state = 'queued' AND coalesce(owner_id, 0) NOT IN (0, %(owner)s)
    GROUP BY 1
) waiting ON true
GROUP BY mine.round
"""


def jobs_ahead(job: Job) -> int:
    """How many queued jobs start before this queued one at most: those of its owner that come first, and as many of
    each other."""
    row = {"created": job.created, "id": job.pk, "priority": job.priority}
    return _count_ahead({"kind": job.kind, "owner": job.owner_id or 0, "new": 0, **row})


def jobs_ahead_of_new(kind: Job.Kind, owner_id: int | None) -> int:
    """The same for a job that this person would submit now."""
    row = {"created": "infinity", "id": "", "priority": 0}
    return _count_ahead({"kind": kind.value, "owner": owner_id or 0, "new": 1, **row})


def _count_ahead(values: dict[str, Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_AHEAD, values)
        return int(cursor.fetchone()[0])
