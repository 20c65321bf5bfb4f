"""The event stream of a training: what its log says, with the metrics of its updates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from apps.jobs.events import line, nothing, reason
from apps.jobs.models import Job, JobEvent, Point
from apps.trainings import alarms
from gem.client import events
from gem.client.events import Event
from gem.training.study.alarms import alarm_from

Kind = JobEvent.Kind
Points = dict[int, dict[str, float]]


def training_events(job: Job, rows: Sequence[JobEvent]) -> Iterable[Event]:
    """The events of a training that these rows stand for."""
    updates = [update for row in rows if row.kind == Kind.UPDATES for update in row.data.get("updates", ())]
    points = dict(Point.objects.filter(job=job, update__in=updates).values_list("update", "data")) if updates else {}
    for row in rows:
        model, more = _MODELS.get(Kind(row.kind), (events.TrainingNoted, nothing))
        if model is events.TrainingCheckpoint and "agent" not in row.data:  # such as the evaluation of the best one
            model, more = events.TrainingNoted, nothing
        yield model.model_validate({"training": job.pk, **line(row), **more(job, row, points)})


More = Callable[[Job, JobEvent, Points], dict[str, Any]]


def _queued(job: Job, row: JobEvent, points: Points) -> dict[str, Any]:
    updates = row.data.get("updates", job.spec["updates"])
    return {
        "env_ids": [job.spec["env_id"]],
        "agent": job.agent.slug,
        "episodes_total": (updates - job.parent_update) * job.spec["episodes"],
        "updates": updates,
    }


def _started(job: Job, row: JobEvent, points: Points) -> dict[str, Any]:
    return {"attempt": row.data.get("attempt")}


def _updates(job: Job, row: JobEvent, points: Points) -> dict[str, Any]:
    known = (points.get(update, {"update": update}) for update in row.data.get("updates", ()))
    return {"points": [{**point} for point in known]}


def _samples(job: Job, row: JobEvent, points: Points) -> dict[str, Any]:
    return {name: row.data[name] for name in ("update", "exam", "episodes")}


def _checkpoint(job: Job, row: JobEvent, points: Points) -> dict[str, Any]:
    return {name: row.data[name] for name in ("update", "agent")}


def _alarm(job: Job, row: JobEvent, points: Points) -> dict[str, Any]:
    return {"alarm": alarms.described(alarm_from(row.data["alarm"]))}


def _ended(job: Job, row: JobEvent, points: Points) -> dict[str, Any]:
    latest = row.data.get("latest", {})
    return {
        "state": row.data.get("state"),
        "update": latest.get("update"),
        "success": latest.get("success"),
        **reason(job, row, points),
    }


_MODELS: dict[Kind, tuple[type[Event], More]] = {
    Kind.SUBMITTED: (events.TrainingQueued, _queued),
    Kind.CLAIMED: (events.TrainingStarted, _started),
    Kind.UPDATES: (events.TrainingUpdates, _updates),
    Kind.SAMPLES: (events.TrainingSamples, _samples),
    Kind.CHECKPOINT: (events.TrainingCheckpoint, _checkpoint),
    Kind.ALARM: (events.TrainingAlarm, _alarm),
    Kind.REQUEUED: (events.TrainingRequeued, reason),
    Kind.PAUSED: (events.TrainingPaused, reason),
    Kind.RESUMED: (events.TrainingResumed, nothing),
    Kind.ENDED: (events.TrainingEnded, _ended),
}
"""The event of each kind of row, and the function of its further fields. Any other row is a line of the log."""
