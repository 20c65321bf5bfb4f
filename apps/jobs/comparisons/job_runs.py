"""Evaluations as runs that `gem.evaluation.compare` compares."""

from __future__ import annotations

from collections.abc import Sequence

from apps.accounts.models import Viewer
from apps.jobs import pages
from apps.jobs.comparisons.episodes import episodes_of
from apps.jobs.models import Job
from apps.jobs.results.environments import environments_of
from gem.evaluation.comparison.runs import Run

MAX_EPISODES = 20_000
"""Episodes of all evaluations together that a page compares, which takes about half a second of computing. `gemweb
compare` has no such limit."""


def runs_of(jobs: Sequence[Job], viewer: Viewer) -> list[Run]:
    """Return the finished episodes of each evaluation, with the settings that this person may see.

    Episodes that administrators have hidden count, as on the page of the job, and have no name, so nothing links to
    them.
    """
    names = [job.agent.name for job in jobs]
    return [
        Run(
            job.agent.name if names.count(job.agent.name) == 1 else f"{job.agent.name} {job.pk[:4].upper()}",
            episodes_of(job),
            {**job.spec, "set_up": (job.set_up or {}) if pages.may_see_set_up(job, viewer) else {}},
            environments_of(job),
        )
        for job in jobs
    ]
