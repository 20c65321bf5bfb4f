"""Evaluations as runs that `gem.evaluation.compare` compares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from django.db.models import F

from apps.accounts.models import Viewer
from apps.episodes.models import Episode
from apps.jobs import pages
from apps.jobs.models import Job
from apps.jobs.results.environments import environments_of
from gem.evaluation.comparison.runs import Run, ScoredEpisode

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
            _episodes(job),
            {**job.spec, "set_up": (job.set_up or {}) if pages.may_see_set_up(job, viewer) else {}},
            environments_of(job),
        )
        for job in jobs
    ]


def _episodes(job: Job) -> list[ScoredEpisode]:
    rows = (
        Episode.objects.filter(batch=job.batch_id, seats__number=F("scored_seat"))
        .exclude(status__in=[Episode.Status.RUNNING, Episode.Status.ABANDONED])
        .order_by("slot")
        .values_list(
            "env_id", "seed", "scored_seat", "seats__total_reward", "success", "turn_count", "status", "failed_by",
            "pk", "hidden_reason",
        )
    )  # fmt: skip
    tries: Counter[tuple[str, int, int]] = Counter()
    episodes = []
    for env_id, seed, seat, reached, success, turns, status, failed_by, key, hidden_reason in rows:
        place = (env_id, seed, seat)
        is_failed, by_agent = status == Episode.Status.FAILED, failed_by == Episode.FailedBy.AGENT
        episodes.append(
            ScoredEpisode(
                *place,
                repeat=tries[place],
                total_reward=reached,
                success=bool(success),
                turns=turns,
                failed=is_failed and not by_agent,
                unanswered=is_failed and by_agent,
                name="" if hidden_reason else key,
            )
        )
        tries[place] += 1
    return episodes
