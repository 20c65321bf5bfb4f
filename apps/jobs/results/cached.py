"""Results that read every episode of a job, shared by requests: for seconds while it runs, for a day afterwards."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

import redis
from django.core.cache import cache

from apps.jobs.models import Job

logger = logging.getLogger(__name__)

RUNNING_SECONDS, OVER_SECONDS = 2, 24 * 3600
Result = TypeVar("Result")


def shared(job: Job, name: str, compute: Callable[[], Result]) -> Result:
    """What `compute` returns, or returned a short while ago. A job that is over and changes has another key.

    Without Valkey it is computed each time.
    """
    return shared_of_all([job], name, compute)


def shared_of_all(jobs: Sequence[Job], name: str, compute: Callable[[], Result]) -> Result:
    """What `compute` returns, or returned a short while ago, from all of these jobs together: see `shared`."""
    parts = [f"{job.pk}:{job.seq if job.over else ''}" for job in jobs]
    seconds = OVER_SECONDS if all(job.over for job in jobs) else RUNNING_SECONDS
    try:
        return cast("Result", cache.get_or_set(f"job-{name}:{':'.join(parts)}", compute, seconds))
    except redis.RedisError as error:
        logger.warning("%s of %s jobs is not shared with other requests: %s", name, len(jobs), error)
        return compute()


def shared_by_many(
    jobs: Sequence[Job], name: str, compute: Callable[[Sequence[Job]], Mapping[str, Result]]
) -> dict[str, Result]:
    """What `compute` returns for several jobs, by id; it is called once, for those of which nothing is known."""
    keys = {job.pk: f"job-{name}:{job.pk}:{job.seq if job.over else ''}" for job in jobs}
    try:
        known = cache.get_many(keys.values())
        found = {job_id: cast("Result", known[key]) for job_id, key in keys.items() if key in known}
        unknown = [job for job in jobs if job.pk not in found]
        computed = compute(unknown) if unknown else {}
        for seconds, is_over in ((RUNNING_SECONDS, False), (OVER_SECONDS, True)):
            fresh = {keys[job.pk]: computed[job.pk] for job in unknown if job.over is is_over}
            if fresh:
                cache.set_many(fresh, seconds)
    except redis.RedisError as error:
        logger.warning("%s of %s jobs are not shared with other requests: %s", name, len(jobs), error)
        return dict(compute(jobs))
    return {**found, **computed}
