"""Evaluations that other programs have made, as they report them."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from ninja import File, Form, Router, Status, UploadedFile

from apps.api.callers import account, manager
from apps.api.paging import Cursor, Limit, by_number, newest_first
from apps.reported import reading_files, recording
from apps.reported.models import ReportedEpisode, ReportedEvaluation
from apps.reported.recording import ReportRefused
from apps.visibility import Visibility
from gem.client import schemas

router = Router(tags=["reported evaluations"])


@router.get("", response=schemas.ReportedEvaluationPage)
def list_reported_evaluations(
    request: HttpRequest, mine: bool = False, cursor: Cursor = "", limit: Limit = 50
) -> schemas.ReportedEvaluationPage:
    """Reported evaluations, the newest first."""
    rows = ReportedEvaluation.objects
    found = rows.owned(request.user) if mine else rows.listed_for(request.user)
    page, following = newest_first(found.select_related("owner"), cursor, limit)
    return schemas.ReportedEvaluationPage(items=[_answer(request, row) for row in page], next=following)


@router.post("", response={202: schemas.ReportedEvaluation}, auth=manager)
def report_evaluation(
    request: HttpRequest, file: File[UploadedFile], name: Form[str] = "", visibility: Form[str] = ""
) -> Status[schemas.ReportedEvaluation]:
    """Report an evaluation in a file: a log of Inspect, rows of verifiers, or episodes as JSON lines."""
    if visibility and visibility not in Visibility.values:
        raise ReportRefused("Choose public, unlisted or private. Nothing was stored.")
    row = reading_files.accept(account(request), name or file.name or "evaluation", file, visibility=visibility)
    return Status(202, _answer(request, row))


@router.get("/{evaluation_id}", response=schemas.ReportedEvaluation)
def get_reported_evaluation(request: HttpRequest, evaluation_id: str) -> schemas.ReportedEvaluation:
    """One reported evaluation."""
    return _answer(request, _find(request, evaluation_id))


@router.delete("/{evaluation_id}", response={204: None}, auth=manager)
def delete_reported_evaluation(request: HttpRequest, evaluation_id: str) -> Status[None]:
    """Delete a reported evaluation with its episodes."""
    row = _find(request, evaluation_id)
    if row.owner_id != request.user.pk:
        raise PermissionDenied("Only the owner of a reported evaluation can delete it.")
    recording.delete(row)
    return Status(204, None)


@router.get("/{evaluation_id}/episodes", response=schemas.ReportedEpisodePage)
def list_reported_episodes(
    request: HttpRequest, evaluation_id: str, cursor: Cursor = "", limit: Limit = 50
) -> schemas.ReportedEpisodePage:
    """The episodes of a reported evaluation, with their transcripts."""
    rows = ReportedEpisode.objects.filter(evaluation=_find(request, evaluation_id))
    page, following = by_number(rows, "number", cursor, limit)
    items = [
        schemas.ReportedEpisode(
            number=row.number,
            url=request.build_absolute_uri(row.get_absolute_url()),
            example=row.example,
            env_id=row.env_id,
            reward=row.reward,
            solved=row.solved,
            error=row.error,
            messages=[schemas.ReportedMessage.model_validate(message) for message in row.messages],
            extra=row.extra,
        )
        for row in page
    ]
    return schemas.ReportedEpisodePage(items=items, next=following)


def _find(request: HttpRequest, evaluation_id: str) -> ReportedEvaluation:
    rows = ReportedEvaluation.objects.visible_to(request.user).select_related("owner")
    row = rows.filter(pk=evaluation_id).first()
    if row is None:
        raise Http404(f"There is no reported evaluation {evaluation_id}.")
    return row


def _answer(request: HttpRequest, row: ReportedEvaluation) -> schemas.ReportedEvaluation:
    return schemas.ReportedEvaluation.model_validate(
        {
            "id": row.pk,
            "url": request.build_absolute_uri(row.get_absolute_url()),
            "name": row.name,
            "model": row.model,
            "owner": row.owner.get_username(),
            "source": row.source,
            "environments": row.environments,
            "visibility": row.visibility,
            "state": row.state,
            "reason": row.reason,
            "episodes": row.episodes,
            "mean_reward": row.mean_reward,
            "share_solved": row.share_solved,
            "errors": row.errors,
            "metrics": row.metrics,
            "config": row.config,
            "created": row.created,
        }
    )
