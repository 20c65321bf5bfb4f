"""Pages of trainings elsewhere: how to send curves, the list, and one training with its curves and transcripts."""

from __future__ import annotations

import json

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.curves import operations, reading
from apps.curves.entries import MAX_STEP
from apps.curves.models import OutsideTraining
from apps.curves.names import KNOWN, in_order, name_for
from apps.curves.recording import CurvesRefused
from apps.visibility import save_choice

MOST = 100
TRANSCRIPTS = 12
"""Transcripts of a step that a page shows."""
COMPARED = {"success": "Share solved", "return": "Return"}
"""What its owner chooses by hand; other metrics are found by their names."""


@never_cache
@require_safe
def list(request: HttpRequest) -> HttpResponse:  # noqa: A001 (the page's name)
    """The newest trainings elsewhere, and how to send the curves of one."""
    rows = OutsideTraining.objects.listed_for(request.user).select_related("owner")
    mine = request.GET.get("whose") == "mine"
    if mine:
        rows = rows.owned(request.user)
    context = {
        "rows": rows[:MOST],
        "mine": mine,
        "site": settings.SITE_URL,
        "sender": request.user.get_username() or "YOUR-NAME",
    }
    return render(request, "curves/list.html", context)


@never_cache
@require_safe
def training(request: HttpRequest, training_id: str) -> HttpResponse:
    """The page of a training elsewhere. Later changes come through the socket."""
    row = find(request, training_id)
    asked = request.GET.getlist("metric")
    names = reading.shown_names(row, asked)
    step = _whole(request.GET.get("update", ""))
    looked_at = step if step is not None else max(0, row.last_step or 0)
    nearest, transcripts = reading.transcripts_near(row, looked_at, TRANSCRIPTS)
    context = {
        "training": row,
        "names": [(name, f"{reading.OF_METRIC}{name}") for name in names],
        "all_names": in_order(row.latest),
        "shown": set(names),
        "query": urlencode([("metric", name) for name in names]) if asked else "",
        "is_mine": row.owner_id == request.user.pk,
        "roles": [(ours, title, name_for(row, ours)) for ours, title in COMPARED.items()],
        "config": json.dumps(row.config, indent=2, ensure_ascii=False) if row.config else "",
        "looked_at": looked_at,
        "nearest": nearest,
        "transcripts": transcripts,
        "chosen": step is not None,
    }
    return render(request, "curves/training.html", context)


@never_cache
@require_safe
def points(request: HttpRequest, training_id: str) -> HttpResponse:
    """The points that arrived after an entry. With `as`, the one metric has this name, as in our trainings."""
    row = find(request, training_id)
    names = reading.shown_names(row, request.GET.getlist("metric"))
    found = reading.columns(row, names, _whole(request.GET.get("after", "")) or 0)
    ours = request.GET.get("as", "")
    if ours in KNOWN and len(names) == 1:
        found[ours] = found.pop(f"{reading.OF_METRIC}{names[0]}")
    return JsonResponse(found)


@never_cache
@require_safe
def step(request: HttpRequest, training_id: str, number: int) -> HttpResponse:
    """A fragment with the transcripts that were sent near a step."""
    row = find(request, training_id)
    if number > MAX_STEP:
        raise Http404("There is no such step.")
    nearest, transcripts = reading.transcripts_near(row, number, TRANSCRIPTS)
    context = {"training": row, "nearest": nearest, "transcripts": transcripts}
    return render(request, "curves/training.html#looked-at", context)


@require_POST
def visibility(request: HttpRequest, training_id: str) -> HttpResponse:
    """Choose who may see a training. Only its owner can."""
    row = _own(request, training_id)
    save_choice(request, lambda chosen: operations.set_visibility(row, chosen))
    return redirect(row)


@require_POST
def roles(request: HttpRequest, training_id: str) -> HttpResponse:
    """Choose which metrics are compared with the share solved and the return of our trainings. Only its owner can."""
    row = _own(request, training_id)
    try:
        operations.set_roles(row, {ours: request.POST.get(ours, "") for ours in COMPARED})
    except CurvesRefused as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, "Saved. Comparisons use these metrics.")
    return redirect(row)


@require_POST
def delete(request: HttpRequest, training_id: str) -> HttpResponse:
    """Delete a training with all that it has sent. Only its owner can."""
    row = _own(request, training_id)
    operations.delete(row)
    messages.success(request, f"{row.name} is deleted with everything that it sent.")
    return redirect("curves:list")


def find(request: HttpRequest, training_id: str) -> OutsideTraining:
    """A training elsewhere that this person may see.

    Raises:
        Http404: there is none.
    """
    row = OutsideTraining.objects.visible_to(request.user).select_related("owner").filter(pk=training_id).first()
    if row is None:
        raise Http404(f"There is no training elsewhere {training_id}.")
    return row


def _own(request: HttpRequest, training_id: str) -> OutsideTraining:
    row = find(request, training_id)
    if row.owner_id != request.user.pk:
        raise PermissionDenied("Only the owner of a training can change it.")
    return row


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else None
