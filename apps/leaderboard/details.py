"""The details of one row: its results by environment, its earlier tries, and what it takes to reproduce it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.http import HttpRequest

import gem
from apps.jobs import pages
from apps.jobs.models import Job
from apps.leaderboard.boards.keys import group_of
from apps.leaderboard.boards.reading import Claim
from apps.leaderboard.evidence import evidence_of
from apps.leaderboard.models import Ranking, Score
from apps.leaderboard.proofs import reading as proofs

MOST_RIVALS = 5
"""Rows that the details compare with: those whose scores are nearest."""
MOST_TRIES = 8


def scale_of(scores: Sequence[Score]) -> dict[str, float]:
    """The ends of the common axis of all intervals in a table."""
    return {
        "low": min([0.0, *(score.mean if score.low is None else score.low for score in scores)]),
        "high": max([1.0, *(score.mean if score.high is None else score.high for score in scores)]),
    }


def find_score(request: HttpRequest, score_id: int) -> Score | None:
    """A score; None if there is no such score, its job is private, or its job or agent is hidden."""
    visible = Score.objects.of_jobs(Job.objects.visible_to(request.user).filter(scores=score_id))
    related = "agent", "job__agent", "job__owner", "job__batch__season", "job__reexecution"
    return visible.select_related(*related).defer("job__reexecution__leaves").filter(pk=score_id).first()


def detail_of(request: HttpRequest, score: Score) -> dict[str, Any]:
    """The details of a score that this person may see, with what `find_score` reads beside it."""
    parts = list(Score.objects.filter(job=score.job).exclude(env_id="").order_by("pk"))
    earlier = Score.objects.of_jobs(Job.objects.listed_for(request.user)).filter(
        agent=score.agent,
        benchmark=score.benchmark,
        env_id=score.env_id,
        tools=score.tools,
        job__owner=score.job.owner,
    )
    evidence = evidence_of([score])[score.job_id]
    return {
        "score": score,
        "parts": parts,
        "actions": evidence.tallies,
        "all_actions": evidence.tally(),
        "jobs": earlier.exclude(pk=score.pk).select_related("job__batch__season").order_by("-created")[:MOST_TRIES],
        "set_up": pages.set_up(score.job),
        "engine": gem.__version__,
        "data": evidence.data,
        "standing": proofs.standing_of(score.job),
        "row": getattr(score.job, "reexecution", None),
        "rivals": rivals_of(request, score),
        "command": f"gemweb reproduce {settings.SITE_URL}{score.get_absolute_url()}",
        **scale_of(parts),
    }


def rivals_of(request: HttpRequest, score: Score) -> list[tuple[Score, Claim]]:
    """The rows that are nearest to a row on its board, each with what is known of the two. Seen from this row."""
    tier = getattr(getattr(score.job, "reexecution", None), "tier", "")
    kept = Ranking.objects.of(score.benchmark, score.benchmark_version).filter(
        season=score.job.batch.season, with_tools=bool(score.tools), group=group_of(tier)
    )
    claims = [Claim(*claim) for ranking in kept.only("claims") for claim in ranking.claims]
    own = [claim.seen_from(score.pk) for claim in claims if score.pk in (claim.first, claim.second)]
    nearest = sorted(own, key=lambda claim: abs(claim.difference))[:MOST_RIVALS]
    rivals = Score.objects.of_jobs(Job.objects.listed_for(request.user)).select_related("agent", "job__owner")
    by_id = {rival.pk: rival for rival in rivals.filter(pk__in=[claim.second for claim in nearest])}
    found = [(by_id[claim.second], claim) for claim in nearest if claim.second in by_id]
    return sorted(found, key=lambda pair: -pair[0].mean)
