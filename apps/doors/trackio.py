"""The ingestion of trackio: a program that logs to trackio sends its curves here once it knows this address.

Its client asks for the version, and then posts entries in batches, each as `{"args": [], "kwargs": {...}}`. What it
could not send it sends again with the same ids, so every entry is stored once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.models import User
from apps.api.models import Scope
from apps.curves import recording
from apps.curves.entries import MEDIA, NO_MEDIA, Sent
from apps.curves.models import OutsideTraining
from apps.curves.recording import CurvesRefused
from apps.doors.callers import DoorRefused, sender
from apps.episodes.text import storable
from gem import __version__

API_VERSION = 1
MAX_BYTES = 16 * 2**20
MOST_RUNS = 500
MAX_ALERTS = 20
NOT_KEPT = "not-kept"
"""The path that is answered to files. Pages say that only numbers and transcripts are kept."""
Kwargs = Mapping[str, Any]


@never_cache
@require_safe
def version(request: HttpRequest, username: str) -> HttpResponse:
    """What trackio's client asks first."""
    return JsonResponse({"version": __version__, "api_version": API_VERSION, "api_transport": "http"})


@csrf_exempt
@never_cache
@require_POST
def call(request: HttpRequest, username: str, name: str) -> HttpResponse:
    """One call of trackio's client, whose answer is `{"data": ...}` or `{"error": ...}`."""
    try:
        owner = sender(request, Scope.SUBMIT, username)
        if name == "upload":
            return JsonResponse({"paths": [NOT_KEPT]})
        function = CALLS.get(name)
        if function is None:
            raise DoorRefused(404, f"This site does not know trackio's call {name[:80]}.")
        return JsonResponse({"data": function(owner, _read(request))})
    except DoorRefused as refusal:
        return JsonResponse({"error": refusal.message}, status=refusal.status)
    except CurvesRefused as refusal:
        return JsonResponse({"error": str(refusal)}, status=refusal.status)


def _read(request: HttpRequest) -> Kwargs:
    """The named arguments of a call.

    Raises:
        DoorRefused: if the body is no such JSON.
    """
    try:
        body = json.loads(request.read())
    except (ValueError, RecursionError) as error:
        raise DoorRefused(400, f"The body is not JSON: {str(error)[:200]}. Nothing was stored.") from error
    kwargs = body.get("kwargs") if isinstance(body, dict) else None
    if not isinstance(kwargs, dict):
        raise DoorRefused(400, "The body has to be an object with the arguments in kwargs. Nothing was stored.")
    return kwargs


# ---------------------------------------------------------------- writes


def _log(owner: User, kwargs: Kwargs) -> None:
    """Store entries. Those of one run become one training, whose settings come with its first entry."""
    for training, entries in _by_training(owner, kwargs, "logs"):
        recording.record_all(training, [_entry(entry) for entry in entries])


def _log_system(owner: User, kwargs: Kwargs) -> None:
    """Note that the use of hardware was sent, which is not kept."""
    for training, _ in _by_training(owner, kwargs, "logs"):
        recording.add_notes(training, {MEDIA: NO_MEDIA})


def _upload(owner: User, kwargs: Kwargs) -> None:
    """Note that files were sent, which are not kept."""
    for training, _ in _by_training(owner, kwargs, "uploads"):
        recording.add_notes(training, {MEDIA: NO_MEDIA})


def _alert(owner: User, kwargs: Kwargs) -> None:
    """Keep alerts as notes of their training."""
    for training, alerts in _by_training(owner, kwargs, "alerts"):
        notes = {}
        for alert in alerts[:MAX_ALERTS]:
            parts = [_text(alert, "level").lower() or "alert", _text(alert, "title"), _text(alert, "text")]
            step = alert.get("step")
            place = f" at step {step:,}" if isinstance(step, int) else ""
            notes[f"alert {_text(alert, 'alert_id')}"] = f"{': '.join(part for part in parts if part)}{place}"[:400]
        recording.add_notes(training, notes)


def _by_training(owner: User, kwargs: Kwargs, argument: str) -> list[tuple[OutsideTraining, list[Mapping[str, Any]]]]:
    """What was sent, by training; a training that is new is made.

    Raises:
        DoorRefused: if it is no list of entries with a project and a run.
        CurvesRefused: if a training cannot be made.
    """
    sent = kwargs.get(argument)
    if not isinstance(sent, list) or not all(isinstance(entry, dict) for entry in sent):
        raise DoorRefused(422, f"{argument} has to be a list of entries. Nothing was stored.")
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for entry in sent:
        project, run = _text(entry, "project"), _text(entry, "run")
        groups.setdefault((project, _text(entry, "run_id") or run, run), []).append(entry)
    return [(_training(owner, project, key, run, entries), entries) for (project, key, run), entries in groups.items()]


def _training(owner: User, project: str, key: str, run: str, entries: list[Mapping[str, Any]]) -> OutsideTraining:
    configs = (entry["config"] for entry in entries if isinstance(entry.get("config"), dict) and entry["config"])
    config: Mapping[str, Any] = next(configs, {})
    group = config.get("_Group")
    return recording.begin(
        owner,
        project,
        key,
        name=run,
        group=group if isinstance(group, str) else "",
        config={name: value for name, value in config.items() if not name.startswith("_")},
        source=OutsideTraining.Source.TRACKIO,
    )


def _entry(entry: Mapping[str, Any]) -> Sent:
    metrics, step = entry.get("metrics"), entry.get("step")
    return Sent(
        metrics=metrics if isinstance(metrics, dict) else {},
        step=step if type(step) is int else None,
        key=_text(entry, "log_id"),
    )


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    return storable(value) if isinstance(value, str) else ""


# ---------------------------------------------------------------- reads


def _runs(owner: User, kwargs: Kwargs) -> list[dict[str, Any]]:
    """The runs of a project, by which a client finds the one that it goes on with."""
    rows = OutsideTraining.objects.filter(owner=owner, project=_text(kwargs, "project"))[:MOST_RUNS]
    return [{"id": row.key, "name": row.name, "created_at": row.created.isoformat()} for row in rows]


def _summary(owner: User, kwargs: Kwargs) -> dict[str, Any]:
    """The last step of a run, after which a client goes on."""
    rows = OutsideTraining.objects.filter(owner=owner, project=_text(kwargs, "project"))
    key, run = _text(kwargs, "run_id"), _text(kwargs, "run")
    row = (rows.filter(key=key) if key else rows.filter(name=run)).first()
    return {
        "project": _text(kwargs, "project"),
        "run": row.name if row else run,
        "num_logs": row.entries if row else 0,
        "last_step": row.last_step if row else None,
        "metrics": sorted(row.latest) if row else [],
        "config": row.config if row else None,
    }


CALLS: Mapping[str, Callable[[User, Kwargs], Any]] = {
    "bulk_log": _log,
    "bulk_log_system": _log_system,
    "bulk_upload_media": _upload,
    "bulk_alert": _alert,
    "get_runs_for_project": _runs,
    "get_run_summary": _summary,
}
