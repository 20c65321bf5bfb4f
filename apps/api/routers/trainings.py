"""Trainings: submit one, follow its curves, download its checkpoints, and control it."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponseBase
from ninja import Router, Status

from apps.agents.checkpoint_views import archive_of
from apps.api import answers
from apps.api.callers import account, reader, submitter
from apps.api.forms import Checks
from apps.api.idempotency import key_of_job
from apps.api.paging import After, Cursor, Limit, by_number, newest_first, read_after
from apps.jobs.models import Job
from apps.jobs.operations import cancel
from apps.one_moment import one_moment
from apps.trainings import operations, pages, permissions
from apps.trainings.alarms import alarms_of, described
from apps.trainings.best import choose
from apps.trainings.checkpoints import checkpoint_to_fork
from apps.trainings.forms import TrainingForm
from apps.trainings.logs import log_file
from gem.client import schemas
from gem.errors import InvalidArgument
from gem.training import recipes
from gem.training.spec import TrainingSpec, with_current_names

router = Router(tags=["trainings"])


@router.get("", response=schemas.JobPage)
def list_trainings(request: HttpRequest, mine: bool = False, cursor: Cursor = "", limit: Limit = 50) -> schemas.JobPage:
    """Trainings, the newest first."""
    rows = Job.objects.trainings()
    rows = rows.owned(request.user) if mine else rows.listed_for(request.user)
    page, following = newest_first(rows.select_related("agent", "owner", "batch"), cursor, limit)
    return schemas.JobPage(items=answers.job_summaries(request, page), next=following)


@router.post("", response={201: schemas.Training}, auth=submitter)
def submit_training(request: HttpRequest, sent: schemas.NewTraining) -> Status[schemas.Training]:
    """Submit a training: a recipe, a specification, or a recipe with some settings changed."""
    user = account(request)
    checks = Checks()
    name = checks.value("name", TrainingForm.base_fields["name"].clean, sent.name)
    spec = _spec(request, sent, checks)
    checks.finish()
    assert spec is not None
    parent = checkpoint_to_fork(user, sent.parent, sent.parent_update) if sent.parent else None
    job = operations.submit(
        user,
        spec,
        name=name or spec.recipe,
        idempotency_key=key_of_job(request),
        parent=parent,
        evaluate_best=sent.evaluate_best,
        visibility=sent.visibility or "",
    )
    return Status(201, _now(request, job.pk))


def _spec(request: HttpRequest, sent: schemas.NewTraining, checks: Checks) -> TrainingSpec | None:
    """The specification, checked for what this person may use before it creates an environment."""
    try:
        base = recipes.data(sent.recipe) if sent.recipe else {}
    except InvalidArgument as error:
        checks.add("recipe", [str(error)])
        return None
    data: dict[str, Any] = {**base, **with_current_names(sent.spec)}
    refusals = permissions.refusals(request.user, data)
    checks.add("spec", refusals)
    return None if refusals else checks.model("spec", TrainingSpec, data)


@router.get("/{job_id}", response=schemas.Training)
def get_training(request: HttpRequest, job_id: str) -> schemas.Training:
    """One training, with its last update."""
    return _now(request, job_id)


@router.get("/{job_id}/metrics", response=schemas.Metrics)
def get_metrics(request: HttpRequest, job_id: str, after: After = "") -> schemas.Metrics:
    """The points of all curves after the update `after`. Of a long training only every second, third, ... is sent."""
    data = pages.curves(_find(request, job_id), read_after(after))
    return schemas.Metrics(last=data.pop("last"), over=data.pop("over"), columns=data)


@router.get("/{job_id}/checkpoints", response=schemas.CheckpointPage)
def list_checkpoints(
    request: HttpRequest, job_id: str, cursor: Cursor = "", limit: Limit = 50
) -> schemas.CheckpointPage:
    """The checkpoints of a training, in their order. Each is an agent."""
    rows = pages.shown_checkpoints(_find(request, job_id), request.user).select_related("agent__weights")
    page, following = by_number(rows, "update", cursor, limit)
    items = []
    for row in page:
        weights = getattr(row.agent, "weights", None)
        items.append(
            schemas.Checkpoint(
                update=row.update,
                agent=row.agent.slug,
                success=row.success,
                size=weights.size if weights else None,
                sha256=weights.sha256 if weights else None,
                created=row.created,
            )
        )
    return schemas.CheckpointPage(items=items, next=following)


@router.get("/{job_id}/checkpoints/{int:number}.zip", response=bytes, openapi_extra={"x-media-type": "application/zip"})
def download_checkpoint(request: HttpRequest, job_id: str, number: int) -> HttpResponseBase:
    """Download a checkpoint: weights, configuration, tokenizer and card in one archive."""
    rows = pages.shown_checkpoints(_find(request, job_id), request.user).select_related("agent__weights")
    row = rows.filter(update=number).first() if number < 2**31 else None
    if row is None:
        raise Http404("There is no such checkpoint.")
    return archive_of(request, row.agent)


@router.get("/{job_id}/log.txt", auth=reader, response=bytes, openapi_extra={"x-media-type": "text/plain"})
def download_log(request: HttpRequest, job_id: str) -> HttpResponseBase:
    """Download the log of the process that trains, which only the owner of a training can read."""
    return log_file(request, job_id)


# ---------------------------------------------------------------- control


@router.post("/{job_id}/pause", response=schemas.Training, auth=submitter)
def pause_training(request: HttpRequest, job_id: str) -> schemas.Training:
    """Stop a training after its current update, with a checkpoint."""
    return _now(request, operations.pause(_find(request, job_id).pk, account(request)).pk)


@router.post("/{job_id}/resume", response=schemas.Training, auth=submitter)
def resume_training(request: HttpRequest, job_id: str) -> schemas.Training:
    """Continue a paused, cancelled or failed training from its last checkpoint."""
    return _now(request, operations.resume(_find(request, job_id).pk, account(request)).pk)


@router.post("/{job_id}/extend", response=schemas.Training, auth=submitter)
def extend_training(request: HttpRequest, job_id: str, sent: schemas.Extension) -> schemas.Training:
    """Give a training more updates. One that was done continues."""
    job = operations.extend(_find(request, job_id).pk, account(request), sent.updates)
    return _now(request, job.pk)


@router.post("/{job_id}/cancel", response=schemas.Training, auth=submitter)
def cancel_training(request: HttpRequest, job_id: str) -> schemas.Training:
    """Cancel a training. Its checkpoints are kept, and it can be resumed."""
    return _now(request, cancel(_find(request, job_id).pk, account(request)).pk)


@router.post("/{job_id}/evaluate-best", response=schemas.Training, auth=submitter)
def evaluate_best_checkpoint(request: HttpRequest, job_id: str) -> schemas.Training:
    """Submit the best checkpoint for evaluation: now if the training has ended, otherwise when it is done."""
    operations.evaluate_best(_find(request, job_id).pk, account(request))
    return _now(request, job_id)


def _find(request: HttpRequest, job_id: str) -> Job:
    job = Job.objects.trainings().visible_to(request.user).for_page().filter(pk=job_id).first()
    if job is None:
        raise Http404(f"There is no training {job_id}.")
    return job


def _now(request: HttpRequest, job_id: str) -> schemas.Training:
    """The answer about a training as it is now."""
    with one_moment():
        return _training(request, _find(request, job_id))


def _training(request: HttpRequest, job: Job) -> schemas.Training:
    last = job.points.order_by("update").last()
    choice, shown = choose(job), pages.shown_checkpoints(job, request.user)
    evaluations = Job.objects.evaluations().visible_to(request.user).filter(parent=job).order_by("created")
    return schemas.Training(
        **answers.job_data(request, job, left=pages.seconds_left(job, last)),
        updates=int(job.spec["updates"]),
        updates_done=last.update if last else job.parent_update,
        last={**last.data} if last else None,
        best_update=choice.best.checkpoint.update if choice.best and choice.best.checkpoint in shown else None,
        best_reason=choice.reason,
        alarms=[schemas.Alarm.model_validate(described(alarm)) for alarm in alarms_of(job)],
        evaluations=list(evaluations.values_list("pk", flat=True)),
    )
