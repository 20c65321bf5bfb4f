"""Jobs of both kinds: submit an evaluation, follow it, read its results and episodes, and control it."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from django.http import Http404, HttpRequest, HttpResponseBase
from ninja import Query, Router, Status

from apps.api import answers
from apps.api.callers import account, manager, submitter
from apps.api.forms import Checks
from apps.api.idempotency import key_of_job
from apps.api.lines import jsonl
from apps.api.paging import Cursor, Limit, by_number, newest_first, read_number
from apps.episodes.models import Episode
from apps.episodes.replays.downloads import records_of
from apps.jobs import admission, estimates, operations, pages, results
from apps.jobs.books.reading import books_by_episode, books_by_side, books_of, cost_of
from apps.jobs.errors import NotYours
from apps.jobs.forms import EvaluationForm
from apps.jobs.models import Job
from apps.jobs.results import Tally, finished
from apps.jobs.results.cached import shared
from apps.visibility import Visibility
from gem.client import schemas

router = Router(tags=["jobs"])
Kind = Literal["evaluation", "training"]
State = Literal["queued", "running", "paused", "done", "stopped", "cancelled", "failed"]
Ending = Literal["won", "lost", "limit", "error"]


@router.get("", response=schemas.JobPage)
def list_jobs(
    request: HttpRequest,
    kind: Annotated[Kind | None, Query(None)] = None,
    state: Annotated[State | None, Query(None)] = None,
    mine: Annotated[bool, Query(False, description="Only your own jobs.")] = False,
    cursor: Cursor = "",
    limit: Limit = 50,
) -> schemas.JobPage:
    """Jobs, the newest first."""
    rows = Job.objects.owned(request.user) if mine else Job.objects.listed_for(request.user)
    if kind is not None:
        rows = rows.filter(kind=kind)
    if state is not None:
        rows = rows.filter(state=state)
    page, following = newest_first(rows.select_related("agent", "owner", "batch"), cursor, limit)
    return schemas.JobPage(items=[answers.job_summary(request, row) for row in page], next=following)


@router.post("", response={201: schemas.Job}, auth=submitter)
def submit_evaluation(request: HttpRequest, sent: schemas.NewEvaluation) -> Status[schemas.Job]:
    """Submit an evaluation. It is played by workers, and its results change until it is over."""
    checks = Checks()
    name = checks.value("name", EvaluationForm.base_fields["name"].clean, sent.name)
    checks.finish()
    key = key_of_job(request)
    job = operations.submit(
        account(request), sent.spec, name=name, idempotency_key=key, visibility=sent.visibility or ""
    )
    return Status(201, evaluation_or_training(request, find(request, job.pk)))


@router.get("/{job_id}", response=schemas.Job)
def get_job(request: HttpRequest, job_id: str) -> schemas.Job:
    """One job, with its request and how far it is."""
    return evaluation_or_training(request, find(request, job_id))


@router.get("/{job_id}/results", response=schemas.Results)
def get_results(request: HttpRequest, job_id: str) -> schemas.Results:
    """The results of an evaluation so far, together and by environment."""
    job = find_evaluation(request, job_id)
    shards = list(job.shards.all())
    tally = Tally.of(shards)
    has_repeats = int(job.spec.get("repeats", 1)) > 1
    books, priced = books_of(job.pk), pages.may_see_set_up(job, request.user)
    cost = cost_of(job, books) if priced else None
    passes = shared(job, "passes", partial(results.passes, job)) if has_repeats and job.over else {}
    return schemas.Results(
        total=answers.score_of(tally),
        environments=[answers.score_of(line.tally, line.env_id) for line in results.lines(shards)],
        passes={env_id: {str(k): interval.mean for k, interval in by_k.items()} for env_id, by_k in passes.items()},
        cost=None if cost is None else float(cost),
        books=answers.books_of_job(job, books, priced=priced),
        books_by_agent={
            side: answers.books_of_job(job, account, priced=priced) for side, account in books_by_side(job).items()
        },
    )


@router.get("/{job_id}/episodes", response=schemas.JobEpisodePage)
def list_episodes_of_job(
    request: HttpRequest,
    job_id: str,
    env_id: Annotated[str, Query("", max_length=120)] = "",
    outcome: Annotated[Ending | None, Query(None)] = None,
    cursor: Cursor = "",
    limit: Limit = 50,
) -> schemas.JobEpisodePage:
    """The finished episodes of an evaluation, in the order of their slots."""
    job = find_evaluation(request, job_id)
    slots = finished.slots_of(job, env_id, outcome or "")
    if (after := read_number(cursor)) is not None:
        slots = slots.filter(slot__gt=after)
    chosen = list(slots[: limit + 1])
    rows = finished.finished(job, hidden=job.may_be_changed_by(request.user)).filter(slot__in=chosen[:limit])
    columns = ("pk", "slot", "env_id", "seed", "ending", "reached", "turn_count")
    return schemas.JobEpisodePage(
        items=[schemas.JobEpisode(id=row.pop("pk"), outcome=row.pop("ending"), **row) for row in rows.values(*columns)],
        next=str(chosen[limit - 1]) if len(chosen) > limit else None,
    )


@router.get("/{job_id}/episodes.jsonl", response=bytes, openapi_extra={"x-media-type": "application/jsonl"})
def export_episodes_of_job(request: HttpRequest, job_id: str) -> HttpResponseBase:
    """All stored episodes of a job as JSON Lines, each with its turns. They are sent as they are read."""
    job = find(request, job_id)
    records = records_of(Episode.objects.visible_to(request.user).filter(batch=job.batch_id), request.user)
    priced = pages.may_see_set_up(job, request.user)
    books = {
        key: {"books": answers.books_of_job(job, account, priced=priced).model_dump(exclude={"tokens_reserved"})}
        for key, account in books_by_episode(job).items()
    }
    lines = ({**data, **books.get(data["id"], {}), "turns": turns} for data, turns in records)
    return jsonl(lines, f"job-{job.pk}.jsonl")


@router.get("/{job_id}/log", response=schemas.LogPage)
def list_log_of_job(request: HttpRequest, job_id: str, cursor: Cursor = "", limit: Limit = 50) -> schemas.LogPage:
    """The log of a job, in its order. The `cursor` may also be the `seq` of any line to go on after."""
    lines, following = by_number(find(request, job_id).events.all(), "seq", cursor, limit)
    items = [schemas.LogLine(seq=line.seq, kind=line.kind, text=line.text, at=line.at) for line in lines]
    return schemas.LogPage(items=items, next=following)


# ---------------------------------------------------------------- control


@router.post("/{job_id}/cancel", response=schemas.Job, auth=submitter)
def cancel_job(request: HttpRequest, job_id: str) -> schemas.Job:
    """Cancel a job. Finished episodes are kept. A job that has ended stays as it is."""
    job = operations.cancel(find(request, job_id).pk, account(request))
    return evaluation_or_training(request, find(request, job.pk))


@router.post("/{job_id}/resume", response=schemas.Job, auth=submitter)
def resume_evaluation(request: HttpRequest, job_id: str) -> schemas.Job:
    """Continue an evaluation that a restore has paused. Others stay as they are."""
    job = operations.resume(find_evaluation(request, job_id).pk, account(request))
    return evaluation_or_training(request, find(request, job.pk))


@router.post("/{job_id}/resubmit", response={201: schemas.Job}, auth=submitter)
def resubmit_evaluation(request: HttpRequest, job_id: str) -> Status[schemas.Job]:
    """Submit the request of any evaluation again, as a job of your own."""
    key = key_of_job(request)
    job = operations.resubmit(find_evaluation(request, job_id).pk, account(request), idempotency_key=key)
    return Status(201, evaluation_or_training(request, find(request, job.pk)))


@router.put("/{job_id}/visibility", response=schemas.Job, auth=manager)
def set_visibility_of_job(request: HttpRequest, job_id: str, sent: schemas.VisibilityChoice) -> schemas.Job:
    """Change who may see a job and its episodes; of a training, also its agent and checkpoints."""
    job = find(request, job_id)
    if job.owner != account(request):
        raise NotYours("Only the owner of a job can change who may see it.")
    operations.set_visibility(job, Visibility(sent.visibility))
    return evaluation_or_training(request, find(request, job_id))


# ---------------------------------------------------------------- helpers


def find(request: HttpRequest, job_id: str) -> Job:
    """The job with this id.

    Raises:
        Http404: if there is none that the caller may see.
    """
    job = Job.objects.visible_to(request.user).for_page().filter(pk=job_id).first()
    if job is None:
        raise Http404(f"There is no job {job_id}.")
    return job


def find_evaluation(request: HttpRequest, job_id: str) -> Job:
    """The evaluation with this id. Raises the same errors as `find`."""
    job = find(request, job_id)
    if job.kind != Job.Kind.EVALUATION:
        raise Http404(f"The job {job_id} is a training, and only evaluations have this address.")
    return job


def evaluation_or_training(request: HttpRequest, job: Job) -> schemas.Job:
    """The answer about a job of either kind."""
    left = None
    if job.kind == Job.Kind.EVALUATION and not job.over:
        estimate = estimates.seconds_left(job)
        left = estimate[0] if estimate else None
    ahead = admission.jobs_ahead(job) if job.state == Job.State.QUEUED else None
    return schemas.Job(**answers.job_data(request, job, left=left, ahead=ahead))
