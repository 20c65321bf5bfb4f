"""Jobs with their progress, their scores and what they used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest

from apps.api.answers.values import link
from apps.jobs.books.reading import Account, books_of, cost_of, spec_of
from apps.jobs.decisions.reading import decision_of, known_other, sentence_of
from apps.jobs.estimates import Power, Remaining, Start, start_of, starts_of
from apps.jobs.filing import word_of
from apps.jobs.models import Job
from apps.jobs.pages import elapsed, may_see_set_up
from apps.jobs.ranked.tries import tries_of
from apps.jobs.results import Tally, clusters
from apps.jobs.results.clusters import Scores
from apps.jobs.results.missing import Missing
from apps.trainings.alarms import alarm_names
from gem.client import schemas
from gem.evaluation.data import DataUse


def job_summaries(request: HttpRequest, rows: Iterable[Job]) -> list[schemas.JobSummary]:
    """The answers about the jobs of a list."""
    listed = list(rows)
    starts = starts_of(listed)
    return [schemas.JobSummary(**_job_summary(request, row, starts.get(row.pk))) for row in listed]


def _job_summary(request: HttpRequest, row: Job, start: Start | None) -> dict[str, Any]:
    return {
        "id": row.pk,
        "kind": row.kind,
        "name": row.title,
        "agent": row.agent.slug,
        "owner": row.owner.get_username() if row.owner else None,
        "mine": row.owner_id is not None and row.owner_id == request.user.pk,
        "tags": row.tags,
        "group": row.group,
        "priority": word_of(row.priority),
        "state": row.state,
        "reason": row.reason,
        "visibility": row.visibility.value,
        "seq": row.seq,
        "episodes_total": row.episodes_total,
        "episodes_done": row.episodes_done,
        "created": row.created,
        "started": row.started,
        "ended": row.ended,
        "url": link(request, row.get_absolute_url()),
        "alarm_names": alarm_names(row),
        "start": start_data(start) if start is not None else None,
    }


def job_data(
    request: HttpRequest, row: Job, *, left: float | None, remaining: Remaining | None = None
) -> dict[str, Any]:
    """The fields of a job of either kind."""
    parent = Job.objects.visible_to(request.user).filter(pk=row.parent_id or "").first()
    is_evaluation = row.kind == Job.Kind.EVALUATION
    score = score_of(Tally.of(row.shards.all()), clusters.scores_of(row).total) if is_evaluation else None
    may_see_costs, start = may_see_set_up(row, request.user), start_of(row)
    return {
        **_job_summary(request, row, start),
        "notes": row.notes,
        "spec": spec_of(row, priced=may_see_costs),
        "set_up": row.set_up if may_see_costs else None,
        "parent": parent.pk if parent else None,
        "parent_update": row.parent_update,
        "turns_done": row.turns_done,
        "seconds_busy": row.seconds_busy,
        "seconds_elapsed": elapsed(row),
        "seconds_left": left,
        "remaining": remaining_of(remaining, priced=may_see_costs) if remaining is not None else None,
        "jobs_ahead": start.ahead if start is not None else None,
        "may_change": row.may_be_changed_by(request.user),
        "ranked": row.is_ranked,
        "season": row.batch.season.number if row.batch.season is not None else None,
        "closed": row.is_closed,
        "tries": tries_of(row),
        "num_envs": row.episodes_at_a_time if row.kind == Job.Kind.EVALUATION else None,
        "max_workers": row.max_workers,
        "score": score,
        "books": books_of_job(row, books_of(row.pk), priced=may_see_costs) if score is not None else None,
        "decision": _decision(request, row) if is_evaluation else None,
    }


def start_data(found: Start) -> schemas.JobStart:
    """When a queued job starts."""
    return schemas.JobStart(
        ahead=found.ahead, seconds=found.seconds, unknown=found.unknown, waits_for_midnight=found.over_cpu
    )


def _decision(request: HttpRequest, row: Job) -> schemas.Decision | None:
    """The comparison that an evaluation stops by."""
    found = decision_of(row)
    if found is None:
        return None
    return schemas.Decision(
        against=known_other(found, request.user),
        is_decided=found.is_decided,
        seeds=found.seeds,
        planned=found.planned,
        evidence=found.evidence,
        low=found.low,
        high=found.high,
        sentence=sentence_of(found),
    )


def books_of_job(row: Job, account: Account, *, priced: bool) -> schemas.Books:
    """What requests used, with the cost for those who may see the prices."""
    cost = cost_of(row, account) if priced else None
    return schemas.Books(
        tokens_in=account.tokens_in,
        tokens_out=account.tokens_out,
        tokens_estimated=account.estimated,
        tokens_reserved=account.reserved,
        requests=account.requests,
        cost=None if cost is None else float(cost),
    )


def remaining_of(found: Remaining, *, priced: bool) -> schemas.Remaining:
    """What a job will still take."""
    return schemas.Remaining(
        seconds=schemas.Expected(**found.seconds._asdict()),
        tokens=schemas.Expected(**found.tokens._asdict()),
        cost=schemas.Expected(**found.cost._asdict()) if priced and found.cost is not None else None,
        evidence=found.evidence,
        unknown=found.forecast.unknown,
    )


def power_of(found: Power, wanted: float | None) -> schemas.Power:
    """What a submission can show about two agents, and the seeds that a difference needs."""
    needed = None if wanted is None else found.seeds_needed(wanted)
    return schemas.Power(
        first=found.first.slug,
        second=found.second.slug if found.second is not None else None,
        seeds=found.seeds,
        smallest_difference=found.smallest,
        seeds_needed=needed,
        seeds_needed_each=None if needed is None else needed // found.environments,
        deviation=found.deviation,
        basis=found.basis.value,
        evidence=found.evidence,
        jobs=[job.pk for job in found.jobs],
    )


def missing_of(found: Missing) -> schemas.Missing:
    """What is missing from results."""
    return schemas.Missing(
        planned=found.planned,
        counted=found.counted,
        unplayed=found.unplayed,
        cut_off=found.cut_off,
        broken=found.broken,
        unanswered=found.unanswered,
        success_rate=schemas.Bounds(**found.solved._asdict()),
        mean_return=schemas.Bounds(**found.mean_return._asdict()) if found.mean_return is not None else None,
        env_ids=list(found.unplayed_env_ids),
    )


def data_of(use: DataUse) -> schemas.Data:
    """The data that an environment was played on."""
    return schemas.Data(env_id=use.env_id, name=use.name, hash=use.data_hash, stands_in_for=use.stands_in_for)


def score_of(tally: Tally, scores: Scores, env_id: str = "") -> schemas.Score:
    """The results of some shards, with their statistics."""
    solved, returns = scores.success, scores.mean_return
    is_looked_at = bool(tally.actions) or not tally.done
    return schemas.Score(
        env_id=env_id,
        episodes=tally.needed,
        done=tally.done,
        counted=tally.n,
        won=tally.won,
        limited=tally.limited,
        errors=tally.errors,
        unanswered=tally.unanswered,
        partial=tally.is_partial,
        missing=tally.missing,
        seeds=scores.seeds,
        success_rate=solved.mean if solved else None,
        low=solved.low if solved else None,
        high=solved.high if solved else None,
        mean_return=returns.mean if returns else None,
        return_low=returns.low if returns else None,
        return_high=returns.high if returns else None,
        no_interval=returns.reason if returns else "",
        actions=tally.actions if is_looked_at else None,
        unreadable=tally.unreadable if is_looked_at else None,
        forbidden=tally.forbidden if is_looked_at else None,
        tokens_in=tally.tokens_in,
        tokens_out=tally.tokens_out,
    )
