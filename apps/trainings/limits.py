"""How many trainings one person may have, and how much their files may take."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import redis
from django.conf import settings
from django.core.cache import cache

from apps.accounts.models import User
from apps.accounts.quotas import STORAGE, TRAININGS, Quota
from apps.agents.uploads import MEGABYTE, bytes_in, bytes_of_uploads
from apps.curves.limits import bytes_of_curves
from apps.jobs.models import Job
from apps.reported.limits import bytes_of_reports

logger = logging.getLogger(__name__)

sizes: list[Callable[[User], int]] = []
"""The bytes of other files of a person that count as storage. Upper apps add theirs in `AppConfig.ready`."""
REMEMBERED_SECONDS = 30
"""How long the size of a person's files is remembered, because a training may have thousands of them."""


def _open_trainings(user: User) -> int:
    return Job.objects.trainings().active().filter(owner=user).count()


def megabytes_of(user: User) -> float:
    """The size of this person's trainings and uploads, and of what trainings elsewhere have sent, in megabytes."""
    try:
        size = int(cache.get_or_set(f"storage:user:{user.pk}", lambda: _bytes_of(user), REMEMBERED_SECONDS) or 0)
    except redis.RedisError as error:
        logger.warning("The size of the files of user %s is not remembered: %s", user.pk, error)
        size = _bytes_of(user)
    return size / MEGABYTE


def _bytes_of(user: User) -> int:
    job_ids = Job.objects.trainings().filter(owner=user).values_list("pk", flat=True)
    folders = sum(bytes_in(Path(settings.RUNS_DIR) / job_id) for job_id in job_ids)
    others = sum(size(user) for size in sizes)
    return folders + bytes_of_uploads(user) + bytes_of_curves(user) + bytes_of_reports(user) + others


QUOTAS = (
    Quota(
        TRAININGS,
        "Trainings that wait or run",
        "TRAININGS_PER_USER",
        _open_trainings,
        at_limit="You cannot submit another one until one ends, or you pause or cancel one.",
        refusal="You have {used} waiting or running; one person may have at most {limit} trainings. "
        "Wait until one ends, pause one, or cancel one.",
        unit="at a time",
    ),
    Quota(
        STORAGE,
        "Files of trainings and uploads",
        "STORAGE_MEGABYTES_PER_USER",
        megabytes_of,
        at_limit="You cannot upload a checkpoint or submit a training. Running trainings continue, and nothing is "
        "deleted.",
        refusal="Your trainings and uploads take {used} MB, and one person may use {limit} MB. Nothing was stored or "
        "started. Delete uploads that you do not need, or ask an administrator.",
        unit="MB",
    ),
)
