"""The upload of verifiers: its client sends evaluations here once `PRIME_API_BASE_URL` names this address.

It asks for the id of an environment, makes an evaluation, sends rows in batches and says how it ended. What is made of
the rows is in `gem.transcripts.samples`. Nothing of it is verified.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.models import User
from apps.api.models import Scope
from apps.doors.callers import DoorRefused, sender
from apps.reported import recording
from apps.reported.models import ReportedEvaluation
from apps.reported.recording import ReportRefused
from gem.transcripts import of_sample

MAX_BYTES = 26 * 2**20
"""Its client sends at most 25 MiB at a time."""
AT_A_TIME = 20
ENDS = {"FAILED": ReportedEvaluation.State.FAILED, "CANCELLED": ReportedEvaluation.State.FAILED}


@csrf_exempt
@never_cache
@require_POST
def resolve(request: HttpRequest) -> HttpResponse:
    """The id of an environment, which is its name."""
    return _answered(request, lambda _, body: {"data": {"id": _text(body, "name")}})


@never_cache
@require_safe
def published(request: HttpRequest, owner: str, name: str) -> HttpResponse:
    """The id of an environment that its author has published elsewhere."""
    return JsonResponse({"data": {"id": f"{owner}/{name}"}})


@csrf_exempt
@never_cache
@require_POST
def evaluations(request: HttpRequest) -> HttpResponse:
    """Make an evaluation."""
    return _answered(request, _begin)


@csrf_exempt
@never_cache
@require_http_methods(["PUT"])
def evaluation(request: HttpRequest, evaluation_id: str) -> HttpResponse:
    """Keep results and settings, and how an evaluation ended."""
    return _answered(request, lambda owner, body: _change(_find(owner, evaluation_id), body))


@csrf_exempt
@never_cache
@require_POST
def samples(request: HttpRequest, evaluation_id: str) -> HttpResponse:
    """Store rows; those that are sent again are stored once."""
    return _answered(request, lambda owner, body: _add(_find(owner, evaluation_id), body))


@csrf_exempt
@never_cache
@require_POST
def finalize(request: HttpRequest, evaluation_id: str) -> HttpResponse:
    """Note that an evaluation is complete."""

    def finish(owner: User, body: Mapping[str, Any]) -> dict[str, Any]:
        row = _find(owner, evaluation_id)
        recording.describe(row, metrics=_object(body, "metrics"))
        recording.end(row, ReportedEvaluation.State.DONE)
        return {"evaluation_id": row.pk, "status": "COMPLETED"}

    return _answered(request, finish)


def _begin(owner: User, body: Mapping[str, Any]) -> dict[str, Any]:
    named = body.get("environments")
    environments = [_text(each, "id") for each in named if isinstance(each, dict)] if isinstance(named, list) else []
    row = recording.begin(
        owner,
        _text(body, "name") or _text(body, "dataset") or "evaluation",
        model=_text(body, "model_name"),
        source=ReportedEvaluation.Source.VERIFIERS,
        environments=environments,
        config=_object(body, "metadata"),
    )
    return {"evaluation_id": row.pk, "name": row.name, "viewer_url": f"{settings.SITE_URL}{row.get_absolute_url()}"}


def _change(row: ReportedEvaluation, body: Mapping[str, Any]) -> dict[str, Any]:
    recording.describe(row, metrics=_object(body, "metrics"), config=_object(body, "metadata"))
    if (state := ENDS.get(_text(body, "status"))) is not None:
        recording.end(row, state, _text(body, "error_message"))
    return {"evaluation_id": row.pk}


def _add(row: ReportedEvaluation, body: Mapping[str, Any]) -> dict[str, Any]:
    rows = body.get("samples")
    if not isinstance(rows, list) or not all(isinstance(each, dict) for each in rows):
        raise DoorRefused(422, "samples has to be a list of rows. Nothing was stored.")
    env_id = row.environments[0] if row.environments else ""
    for first in range(0, len(rows), AT_A_TIME):
        recording.add(row, [of_sample(each, env_id) for each in rows[first : first + AT_A_TIME]])
    return {"samples_pushed": len(rows)}


def _answered(request: HttpRequest, function: Any) -> HttpResponse:
    """The answer to a request with a token that may submit; refusals as verifiers reads them."""
    try:
        return JsonResponse(function(sender(request, Scope.SUBMIT), _read(request)))
    except DoorRefused as refusal:
        return JsonResponse({"detail": refusal.message}, status=refusal.status)
    except ReportRefused as refusal:
        return JsonResponse({"detail": str(refusal)}, status=refusal.status)


def _read(request: HttpRequest) -> Mapping[str, Any]:
    try:
        body = json.loads(request.read() or b"{}")
    except (ValueError, RecursionError) as error:
        raise DoorRefused(400, f"The body is not JSON: {str(error)[:200]}. Nothing was stored.") from error
    if not isinstance(body, dict):
        raise DoorRefused(400, "The body has to be an object. Nothing was stored.")
    return body


def _find(owner: User, evaluation_id: str) -> ReportedEvaluation:
    rows = ReportedEvaluation.objects.select_related("owner").filter(owner=owner, pk=evaluation_id)
    row = rows.filter(source=ReportedEvaluation.Source.VERIFIERS).first()
    if row is None:
        raise DoorRefused(404, "You have no such evaluation.")
    return row


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    return value if isinstance(value, str) else ""


def _object(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = body.get(name)
    return value if isinstance(value, dict) else {}
