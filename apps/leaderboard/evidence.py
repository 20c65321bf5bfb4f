"""What the rows of a leaderboard rest on: the data that were played, and the actions that were not accepted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Sum

from apps.jobs.models import Job, Shard
from apps.jobs.results import datasets
from apps.jobs.results.tallies import Tally
from apps.leaderboard.models import Score
from gem.evaluation.data import DataUse, SharedData, shared


def stand_ins_of(scores: Sequence[Score]) -> dict[str, list[DataUse]]:
    """The data that stand in for others, by the job of each score; of its environment, or of all."""
    jobs = Job.objects.filter(pk__in=[score.job_id for score in scores]).prefetch_related("shards")
    used = {job.pk: datasets.stand_ins(datasets.used(job, list(job.shards.all()))) for job in jobs}
    return {
        score.job_id: [use for use in used.get(score.job_id, []) if score.env_id in ("", use.env_id)]
        for score in scores
    }


def all_of(stand_ins: Mapping[str, Iterable[DataUse]]) -> list[SharedData]:
    """Those of all jobs, each once."""
    return shared(dict.fromkeys(use for uses in stand_ins.values() for use in uses))


COUNTED = ("done", "actions", "unreadable", "forbidden")


def actions_of(scores: Sequence[Score], env_id: str = "") -> dict[str, Tally]:
    """The actions of each score's agent, by job; on one environment, or on all."""
    shards = Shard.objects.filter(job__in=[score.job_id for score in scores], **({"env_id": env_id} if env_id else {}))
    rows = shards.values("job").annotate(**{f"{name}_sum": Sum(name) for name in COUNTED})
    found = {row["job"]: _tally(row) for row in rows}
    return {score.job_id: found.get(score.job_id, Tally()) for score in scores}


def actions_by_environment(job_id: str) -> dict[str, Tally]:
    """The actions of the agent of one job, by environment."""
    rows = Shard.objects.filter(job=job_id).values("env_id").annotate(**{f"{name}_sum": Sum(name) for name in COUNTED})
    return {row["env_id"]: _tally(row) for row in rows}


def _tally(row: Mapping[str, Any]) -> Tally:
    return Tally(**{name: row[f"{name}_sum"] or 0 for name in COUNTED})
