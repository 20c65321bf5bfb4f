"""Tries: how often somebody has begun to be ranked with an agent in a season, whatever became of it."""

from __future__ import annotations

from apps.jobs.models import Job


def tries_of(job: Job) -> int:
    """The ranked jobs of this job's owner with its agent in its season, also those that were cancelled or failed."""
    season = job.batch.season_id
    if season is None:
        return 0
    return Job.objects.filter(batch__season=season, agent=job.agent_id, owner=job.owner_id).count()


def tries_with_any_agent(job: Job) -> int:
    """The ranked jobs of this job's owner in its season, with any agent.

    Whoever adds their model anew has no tries with that agent, so pages say both numbers.
    """
    season = job.batch.season_id
    return 0 if season is None else Job.objects.filter(batch__season=season, owner=job.owner_id).count()
