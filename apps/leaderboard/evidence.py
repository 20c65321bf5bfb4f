"""What the rows of a leaderboard rest on: the data that were played, and the episodes that are missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from apps.jobs.models import Job
from apps.jobs.results import datasets
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
