"""What is set for the environments of an evaluation: their versions, data, wrappers and limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apps.episodes.models import Episode
from apps.jobs.models import Job


def environments_of(job: Job, env_ids: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
    """What is set for each environment of an evaluation, from one episode of it; for those in `env_ids`, or all."""
    fields = ("env_version", "env_kwargs", "wrappers", "data_hash", "max_turns")
    rows = Episode.objects.filter(batch=job.batch_id).order_by("env_id", "slot").distinct("env_id")
    if env_ids is not None:
        rows = rows.filter(env_id__in=env_ids)
    return {row.pop("env_id"): row for row in rows.values("env_id", *fields)}
