"""Trainings elsewhere: their programs send curves, and everybody reads what they may see."""

from __future__ import annotations

from typing import Annotated, Any, cast

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from ninja import Query, Router, Status

from apps.api.callers import account, manager, submitter
from apps.api.paging import After, Cursor, Limit, newest_first, read_after
from apps.curves import operations, reading, recording
from apps.curves.entries import Sent
from apps.curves.models import OutsideTraining
from gem.client import schemas

router = Router(tags=["trainings elsewhere"])
Names = Annotated[list[str], Query([], max_length=reading.MOST_NAMES)]


@router.get("", response=schemas.OutsideTrainingPage)
def list_outside_trainings(
    request: HttpRequest, mine: bool = False, cursor: Cursor = "", limit: Limit = 50
) -> schemas.OutsideTrainingPage:
    """Trainings elsewhere, the newest first."""
    rows = OutsideTraining.objects
    found = rows.owned(request.user) if mine else rows.listed_for(request.user)
    page, following = newest_first(found.select_related("owner"), cursor, limit)
    return schemas.OutsideTrainingPage(items=[_answer(request, row) for row in page], next=following)


@router.post("", response={201: schemas.OutsideTraining}, auth=submitter)
def begin_outside_training(request: HttpRequest, sent: schemas.NewOutsideTraining) -> Status[schemas.OutsideTraining]:
    """Begin a training elsewhere, or go on with the one that has this key in this project."""
    row = recording.begin(
        account(request),
        sent.project,
        sent.key,
        name=sent.name,
        group=sent.group,
        config=sent.config,
        visibility=sent.visibility or "",
    )
    return Status(201, _answer(request, row))


@router.get("/{training_id}", response=schemas.OutsideTraining)
def get_outside_training(request: HttpRequest, training_id: str) -> schemas.OutsideTraining:
    """One training elsewhere."""
    return _answer(request, _find(request, training_id))


@router.delete("/{training_id}", response={204: None}, auth=manager)
def delete_outside_training(request: HttpRequest, training_id: str) -> Status[None]:
    """Delete a training elsewhere with all that it has sent."""
    operations.delete(_own(request, training_id))
    return Status(204, None)


@router.post("/{training_id}/entries", response=schemas.EntriesStored, auth=submitter)
def log_entries(request: HttpRequest, training_id: str, sent: schemas.NewEntries) -> schemas.EntriesStored:
    """Store metrics of steps, in any order. What was sent before is stored once."""
    entries = [Sent(entry.metrics, entry.step, entry.id, entry.time) for entry in sent.entries]
    found = recording.record_all(_own(request, training_id), entries)
    return schemas.EntriesStored(stored=found.stored, repeated=found.repeated, entries=found.training.entries)


@router.post("/{training_id}/end", response=schemas.OutsideTraining, auth=submitter)
def end_outside_training(request: HttpRequest, training_id: str, sent: schemas.OutsideEnd) -> schemas.OutsideTraining:
    """Say that a training elsewhere has finished, or has crashed."""
    operations.end(_own(request, training_id), sent.state, sent.reason)
    return _answer(request, _find(request, training_id))


@router.get("/{training_id}/points", response=schemas.OutsidePoints)
def get_points(request: HttpRequest, training_id: str, metric: Names, after: After = "") -> schemas.OutsidePoints:
    """The points that arrived after an entry. Of a long curve only some hundred are kept for drawing.

    They are those of each `metric` that has arrived; without any, of the first metrics.
    """
    row = _find(request, training_id)
    names = reading.named(row, metric) if metric else reading.shown_names(row)
    found = reading.columns(row, names, read_after(after))
    return schemas.OutsidePoints(
        last=found["last"],
        over=found["over"],
        whole=found["whole"],
        steps=found["update"],
        seconds=found["seconds"],
        metrics={name: found[f"{reading.OF_METRIC}{name}"] for name in names},
    )


def _find(request: HttpRequest, training_id: str) -> OutsideTraining:
    row = OutsideTraining.objects.visible_to(request.user).select_related("owner").filter(pk=training_id).first()
    if row is None:
        raise Http404(f"There is no training elsewhere {training_id}.")
    return row


def _own(request: HttpRequest, training_id: str) -> OutsideTraining:
    row = _find(request, training_id)
    if row.owner_id != request.user.pk:
        raise PermissionDenied("Only the owner of a training can change it.")
    return row


def _answer(request: HttpRequest, row: OutsideTraining) -> schemas.OutsideTraining:
    return schemas.OutsideTraining(
        id=row.pk,
        url=request.build_absolute_uri(row.get_absolute_url()),
        project=row.project,
        key=row.key,
        name=row.name,
        group=row.group,
        owner=row.owner.get_username(),
        source=cast("Any", row.source),
        visibility=cast("Any", row.visibility),
        state=cast("Any", row.state),
        reason=row.reason,
        config=row.config,
        entries=row.entries,
        last_step=row.last_step,
        latest=row.latest,
        transcripts=row.transcripts,
        notes=list(row.notes.values()),
        created=row.created,
        heard=row.heard,
    )
