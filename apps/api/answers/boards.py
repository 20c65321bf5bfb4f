"""Answers about boards and their rows."""

from __future__ import annotations

from typing import Any, cast

from django.http import Http404, HttpRequest
from django.urls import reverse

from apps.api.answers.jobs import data_of
from apps.api.answers.values import link
from apps.jobs.models import Job
from apps.jobs.results.tallies import Tally
from apps.leaderboard.board import Row
from apps.leaderboard.boards import reading
from apps.leaderboard.boards.costs import Cost, costs_of
from apps.leaderboard.boards.filters import Choice
from apps.leaderboard.boards.keys import Group, group_of
from apps.leaderboard.evidence import NOTHING, Evidence, evidence_of
from apps.leaderboard.models import Score
from apps.leaderboard.proofs import reading as proofs
from gem.client import schemas


def board_answer(request: HttpRequest, choice: Choice) -> schemas.Leaderboard:
    """The board that was chosen."""
    season = choice.season_of(reading.seasons_of(choice.benchmark))
    view = reading.read(choice.benchmark, season, env_id=choice.env_id, with_tools=choice.with_tools)
    scores = view.scores
    evidence, tries = evidence_of(scores), reading.tries_of_all(season, view.rows)
    costs = costs_of(scores, evidence, request.user, choice.env_id)
    return schemas.Leaderboard(
        benchmark=choice.benchmark.name,
        version=choice.benchmark.version,
        env_id=choice.env_id,
        season=season.number if season else None,
        url=link(request, reverse("leaderboard:benchmark") + choice.address()),
        items=[
            _row(
                row,
                section.group,
                costs[row.score.job_id],
                evidence.get(row.score.job_id, NOTHING),
                tries=tries.get(row.score.job_id),
            )
            for section in view.sections
            for row in section.rows
        ],
    )


def row_answer(request: HttpRequest, score_id: int) -> schemas.Leaderboard:
    """The scores of one row by environment.

    Raises:
        Http404: there is no such row, or not for this person.
    """
    visible = Score.objects.of_jobs(Job.objects.visible_to(request.user)).select_related("job__batch__season")
    score = visible.filter(pk=score_id).first() if score_id < 2**63 else None
    if score is None:
        raise Http404("There is no such score.")
    evidence = evidence_of([score])[score.job_id]
    related = "agent", "job__owner", "job__reexecution", "job__batch"
    parts = Score.objects.filter(job=score.job).exclude(env_id="").select_related(*related).order_by("pk")
    season = score.job.batch.season
    return schemas.Leaderboard(
        benchmark=score.benchmark,
        version=score.benchmark_version,
        env_id="",
        season=season.number if season else None,
        url=link(request, score.get_absolute_url()),
        items=[
            _row(
                Row(part),
                group_of(proofs.standing_of(part.job).tier),
                Cost(),
                evidence,
                mark=score,
            )
            for part in parts
        ],
    )


def _row(
    row: Row,
    group: Group,
    cost: Cost,
    evidence: Evidence,
    *,
    tries: int | None = None,
    mark: Score | None = None,
) -> schemas.Row:
    score = row.score
    marked = mark or score
    return schemas.Row(
        id=score.pk,
        rank=row.rank,
        best_rank=row.best,
        worst_rank=row.worst,
        agent=score.agent.slug,
        agent_name=score.agent.name,
        kind=score.agent.nature,
        owner=score.job.owner.get_username() if score.job.owner else None,
        env_id=score.env_id,
        tools=score.tools,
        score=score.mean,
        low=score.low,
        high=score.high,
        why_no_interval=score.reason,
        mean_return=score.mean_return,
        success_rate=score.success_rate,
        episodes=score.n,
        errors=score.errors,
        partial=score.errors > 0,
        success_low=score.success_low,
        success_high=score.success_high,
        stand_ins=[data_of(use) for use in evidence.stand_ins(score.env_id)],
        tokens_per_episode=cost.tokens,
        turns_per_episode=cost.turns,
        money_per_episode=cost.money,
        **_actions(evidence.tally(score.env_id)),
        job=score.job_id,
        created=score.created,
        tier=proofs.standing_of(score.job).tier,
        group=group.value,
        tries=tries,
        mark=cast("Any", marked.mark),
        mark_reason=marked.mark_reason,
    )


def _actions(tally: Tally) -> dict[str, Any]:
    counted = bool(tally.actions)
    return {
        "actions": tally.actions or None,
        "unreadable": tally.unreadable if counted else None,
        "forbidden": tally.forbidden if counted else None,
    }
