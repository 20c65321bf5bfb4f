"""Studies: start one, follow its runs, fetch its results, and control it."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponseBase
from django.utils import timezone
from ninja import Router, Status

from apps.api.callers import account, manager, submitter
from apps.api.forms import Checks
from apps.api.idempotency import key_of_job
from apps.api.paging import Cursor, Limit, by_number, newest_first
from apps.studies import exports, operations, pages
from apps.studies.estimates import estimate
from apps.studies.forms import StudyForm
from apps.studies.models import Study, StudyRun
from apps.studies.planning import results_of
from gem.client import schemas
from gem.evaluation.intervals import Interval
from gem.studies.report import Row
from gem.studies.study import Study as Plan

router = Router(tags=["studies"])


@router.get("", response=schemas.StudyPage)
def list_studies(request: HttpRequest, mine: bool = False, cursor: Cursor = "", limit: Limit = 50) -> schemas.StudyPage:
    """Studies that people have started, the newest first."""
    rows = Study.objects.owned(request.user) if mine else Study.objects.listed_for(request.user)
    page, following = newest_first(rows.select_related("owner"), cursor, limit)
    return schemas.StudyPage(items=[_summary(request, row) for row in page], next=following)


@router.post("", response={201: schemas.Study}, auth=submitter)
def start_study(request: HttpRequest, sent: schemas.NewStudy) -> Status[schemas.Study]:
    """Start a study that comes with the site, by its name, or a plan."""
    user = account(request)
    checks = Checks()
    title = checks.value("title", StudyForm.base_fields["title"].clean, sent.title)
    checks.finish()
    study = operations.start(
        user,
        _plan(request, sent),
        title=title,
        visibility=sent.visibility or "",
        keeps_policies=sent.keeps_policies,
        reuses_results=sent.reuses_results,
        idempotency_key=key_of_job(request),
    )
    return Status(201, _answer(request, study))


@router.post("/estimate", response=schemas.StudyEstimate, auth=submitter)
def estimate_study(request: HttpRequest, sent: schemas.NewStudy) -> schemas.StudyEstimate:
    """What a study would take. Nothing is started."""
    account(request)
    found = estimate(_plan(request, sent), reuses_results=sent.reuses_results)
    return schemas.StudyEstimate(
        runs=found.runs, to_make=found.to_make, cpu_seconds=found.cpu_seconds, unknown=[*found.unknown]
    )


def _plan(request: HttpRequest, sent: schemas.NewStudy) -> Plan:
    """The plan of a request, checked for what this person may use before it makes an environment.

    Raises:
        Unfit: if it cannot be carried out, with a sentence for each field.
    """
    if bool(sent.study) == bool(sent.plan):
        raise operations.Unfit("Name a study that comes with the site, or send a plan.", "study")
    plan = operations.plan_named(sent.study) if sent.study else operations.own_plan(request.user, sent.plan)
    plan = operations.with_choices(plan, seeds=sent.seeds, environments=sent.environments)
    operations.check_size(plan, keeps_policies=sent.keeps_policies)
    return plan


@router.get("/{study_id}", response=schemas.Study)
def get_study(request: HttpRequest, study_id: str) -> schemas.Study:
    """One study, with what its results allow to say."""
    return _answer(request, _find(request, study_id))


@router.delete("/{study_id}", response={204: None}, auth=manager)
def delete_study(request: HttpRequest, study_id: str) -> Status[None]:
    """Delete a study that has ended, with its results."""
    operations.delete(_find(request, study_id).pk, account(request))
    return Status(204, None)


@router.get("/{study_id}/runs", response=schemas.StudyRunPage)
def list_study_runs(
    request: HttpRequest, study_id: str, cursor: Cursor = "", limit: Limit = 50
) -> schemas.StudyRunPage:
    """The runs of a study, in the order in which they are made."""
    rows: QuerySet[StudyRun] = StudyRun.objects.filter(study=_find(request, study_id)).select_related("agent")
    page, following = by_number(rows, "number", cursor, limit)
    return schemas.StudyRunPage(items=[_run(row) for row in page], next=following)


@router.get("/{study_id}/results.zip", response=bytes, openapi_extra={"x-media-type": "application/zip"})
def download_study_results(request: HttpRequest, study_id: str) -> HttpResponseBase:
    """Download the plan and a file for each run that was made, in the form in which the repository keeps them."""
    study = _find(request, study_id)
    plan = study.plan
    return exports.archive(request, exports.name_of(study, plan), plan, results_of(study, plan))


@router.post("/{study_id}/pause", response=schemas.Study, auth=submitter)
def pause_study(request: HttpRequest, study_id: str) -> schemas.Study:
    """Stop making runs. One that is under way goes on from its checkpoint after `resume`."""
    return _answer(request, operations.pause(_find(request, study_id).pk, account(request)))


@router.post("/{study_id}/resume", response=schemas.Study, auth=submitter)
def resume_study(request: HttpRequest, study_id: str) -> schemas.Study:
    """Go on with a paused, cancelled or failed study. Runs that have failed are tried again."""
    return _answer(request, operations.resume(_find(request, study_id).pk, account(request)))


@router.post("/{study_id}/cancel", response=schemas.Study, auth=submitter)
def cancel_study(request: HttpRequest, study_id: str) -> schemas.Study:
    """End a study. What was made stays, and it can be resumed."""
    return _answer(request, operations.cancel(_find(request, study_id).pk, account(request)))


def _find(request: HttpRequest, study_id: str) -> Study:
    row = Study.objects.visible_to(request.user).select_related("owner").filter(pk=study_id).first()
    if row is None:
        raise Http404(f"There is no study {study_id}.")
    return row


def _summary(request: HttpRequest, study: Study) -> schemas.StudySummary:
    return schemas.StudySummary.model_validate(
        {
            "id": study.pk,
            "url": request.build_absolute_uri(study.get_absolute_url()),
            "title": study.title,
            "question": study.plan_data.get("question", ""),
            "state": study.state,
            "reason": study.reason,
            "owner": study.owner.get_username(),
            "visibility": study.visibility,
            "total": study.total,
            "done": study.done,
            "reused": study.reused,
            "cpu_seconds": study.cpu_seconds,
            "created": study.created,
            "started": study.started,
            "ended": study.ended,
        }
    )


def _answer(request: HttpRequest, study: Study) -> schemas.Study:
    found = pages.of_study(study).report
    return schemas.Study(
        **_summary(request, study).model_dump(),
        plan=study.plan_data,
        sentences=found.sentences,
        rows=[_row(row) for row in found.rows],
    )


def _row(row: Row) -> schemas.StudyRow:
    return schemas.StudyRow(
        variant=row.name,
        title=row.title,
        solved=_share(row.aggregate.mean, row.interval),
        area=row.area,
        environments={cell.environment: _share(cell.success, cell.interval) for cell in row.cells},
    )


def _share(mean: float, interval: Interval | None) -> schemas.Share:
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return schemas.Share(mean=mean, low=low, high=high)


def _run(row: StudyRun) -> schemas.StudyRun:
    is_running = row.state == StudyRun.State.WAITING and row.lease_until and row.lease_until > timezone.now()
    return schemas.StudyRun.model_validate(
        {
            "number": row.number,
            "file": row.run.file,
            "environment": row.environment,
            "variant": row.variant,
            "seed": row.seed,
            "tuned": row.tuned,
            "state": "running" if is_running else row.state,
            "reason": row.sentence,
            "update": row.update,
            "updates": row.updates,
            "reused": row.is_reused,
            "result": row.result_data,
            "agent": row.agent.slug if row.agent else None,
        }
    )
