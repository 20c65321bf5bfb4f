"""Results that read every episode of a job, shared by requests: for seconds while it runs, for a day afterwards."""

from __future__ import annotations

import logging
from collections.abc import Callable
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
    key = f"job-{name}:{job.pk}:{job.seq if job.over else ''}"
    try:
        return cast("Result", cache.get_or_set(key, compute, OVER_SECONDS if job.over else RUNNING_SECONDS))
    except redis.RedisError as error:
        logger.warning("%s of %s is not shared with other requests: %s", name, job, error)
        return compute()
