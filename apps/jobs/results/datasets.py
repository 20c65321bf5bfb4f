"""The data that the episodes of a job were played on, and those that a request would be played on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.db.models.fields.json import KT

from apps.episodes.models import Episode
from apps.jobs.models import Job, Shard
from apps.jobs.results.cached import shared_by_many
from gem.evaluation.data import DataUse, SharedData, played_on, will_play_on
from gem.evaluation.data import shared as shared_data


def used(job: Job, shards: Sequence[Shard] | None = None) -> list[DataUse]:
    """The data of a job by environment, in its order; environments without data are left out.

    Those of jobs from before shards kept them are read from their episodes.
    """
    return used_by_all({job: list(job.shards.all()) if shards is None else shards})[job.pk]


def used_by_all(shards: Mapping[Job, Sequence[Shard]]) -> dict[str, list[DataUse]]:
    """The same of several jobs, by id."""
    found = {
        job.pk: {(shard.env_id, data_hash): source for shard in rows for data_hash, source in shard.data.items()}
        for job, rows in shards.items()
    }
    before = [
        job
        for job, rows in shards.items()
        if not found[job.pk] and job.episodes_done and all(shard.actions is None for shard in rows if shard.done)
    ]
    if before:
        found |= shared_by_many(before, "data", lambda jobs: {job.pk: _from_episodes(job) for job in jobs})
    return {
        key: [played_on(env_id, data_hash, source) for (env_id, data_hash), source in sources.items()]
        for key, sources in found.items()
    }


def played_and_expected(job: Job, uses: Sequence[DataUse], env_ids: Iterable[str]) -> list[DataUse]:
    """What a job was played on, and as long as it is not over, what its other environments would be played on here."""
    if job.over:
        return list(uses)
    known = {use.env_id for use in uses}
    due = (will_play_on(env_id) for env_id in env_ids if env_id not in known)
    return [*uses, *(use for use in due if use is not None)]


def stand_ins(uses: Iterable[DataUse]) -> list[DataUse]:
    """Those that stand in for other data."""
    return [use for use in uses if use.stands_in_for]


def expected(env_ids: Iterable[str]) -> list[SharedData]:
    """The stand-in data that a request for these environments would be played on here."""
    return shared_data(stand_ins(use for env_id in env_ids if (use := will_play_on(env_id)) is not None))


def _from_episodes(job: Job) -> dict[tuple[str, str], str]:
    rows = (
        Episode.objects.filter(batch=job.batch_id)
        .exclude(data_hash="")
        .values_list("env_id", "data_hash")
        .annotate(source=KT("first_info__data__source"))
        .order_by("env_id")
        .distinct()
    )
    return {(env_id, data_hash): source or "" for env_id, data_hash, source in rows}
