"""The alarms of a training, as its worker found them with each update; of older trainings, from their points.

`gem.training.study.alarms` says what an alarm is. They are kept in `Job.latest`, so that lists need no points.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from apps.jobs.models import Job, Point
from apps.jobs.results.cached import shared
from gem.training.run_folder import RENAMED_METRICS
from gem.training.study.alarms import KINDS, Alarm, alarm_from, changed_alarms, find_alarms

__all__ = ["alarm_names", "alarms_of", "changed_alarms", "described", "marks", "plain", "store", "titles"]

KEPT = "alarms"
METRICS = ("update", "episodes", "stage", *(kind.metric for kind in KINDS.values()), *RENAMED_METRICS)


def alarms_of(job: Job) -> tuple[Alarm, ...]:
    """The alarms of a training so far: see `find_alarms`."""
    if KEPT in job.latest:
        return tuple(alarm_from(data) for data in job.latest[KEPT])
    if not job.latest:
        return ()
    return tuple(alarm_from(data) for data in shared(job, KEPT, lambda: [plain(alarm) for alarm in _find(job.pk)]))


def titles(job: Job) -> list[str]:
    """The titles of the alarms that hold, for lists."""
    return [alarm.title for alarm in alarms_of(job) if alarm.holds]


def alarm_names(job: Job) -> list[str]:
    """The names of the alarms that hold; none of a job that does not train."""
    return [alarm.name for alarm in alarms_of(job) if alarm.holds] if job.kind == Job.Kind.TRAINING else []


def store(job_id: str, latest: dict[str, Any]) -> tuple[Sequence[Alarm], Sequence[Alarm]]:
    """Find the alarms after the update of `latest` and add them to it. The caller has stored the points and saves it.

    Returns the alarms that were known before, and those that are there now.
    """
    before = Job.objects.values_list("latest", flat=True).get(pk=job_id).get(KEPT, [])
    found = _find(job_id, up_to=latest["update"])
    latest[KEPT] = [plain(alarm) for alarm in found]
    return [alarm_from(data) for data in before], found


def plain(alarm: Alarm) -> dict[str, Any]:
    """The alarm as plain data, which `alarm_from` reads."""
    return asdict(alarm)


def described(alarm: Alarm) -> dict[str, Any]:
    """The alarm with its sentences, as the API and the events have it."""
    words = ("name", "metric", "title", "text", "advice", "began", "ended", "holds", "value", "start")
    return {word: getattr(alarm, word) for word in words}


def marks(alarms: Sequence[Alarm]) -> str:
    """What the curves of a page need to know of the alarms, as JSON."""
    return json.dumps([{"update": alarm.began, "metric": alarm.metric, "holds": alarm.holds} for alarm in alarms])


def _find(job_id: str, up_to: int | None = None) -> tuple[Alarm, ...]:
    points = Point.objects.filter(job=job_id).order_by("update")
    if up_to is not None:
        points = points.filter(update__lte=up_to)
    rows = points.values_list(*(f"data__{name}" for name in METRICS))
    return find_alarms(
        {RENAMED_METRICS.get(name, name): value for name, value in zip(METRICS, row, strict=True) if value is not None}
        for row in rows
    )
