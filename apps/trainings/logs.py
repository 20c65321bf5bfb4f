"""What the process of a training says: its end on the page, all of it to download. For its owner and staff.

A log has paths of the machine and whatever libraries print, so it is not for everybody, and it is no part of the events
that every open page hears: the page asks for it while the training runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from apps.jobs.models import Job
from apps.trainings.records import folder_of

LOG = "log.txt"
TAIL_BYTES = 24_000
CHUNK = 1 << 16
STOP_ASKING = 286
"""htmx stops a repeated request on this status."""


@never_cache
@require_GET
def log_tail(request: HttpRequest, job_id: str) -> HttpResponse:
    """The end of the log, as a fragment; the answer says when there is nothing more to come."""
    job = _training(request, job_id)
    status = STOP_ASKING if job.over else 200
    return render(
        request, "trainings/training.html#run-log-text", {"job": job, "log_text": tail_of(job_id)}, status=status
    )


@never_cache
@require_GET
def log(request: HttpRequest, job_id: str) -> HttpResponseBase:
    """The log from its beginning, as plain text."""
    _training(request, job_id)
    try:
        file = _place(job_id).open("rb")
    except FileNotFoundError as error:
        raise Http404("This training has no log yet.") from error
    answer = StreamingHttpResponse(_pieces(file), content_type="text/plain; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="training-{job_id}.log"'
    return answer


def tail_of(job_id: str) -> str:
    """The last lines of the log, whole ones; empty before there are any."""
    try:
        with _place(job_id).open("rb") as file:
            length = file.seek(0, 2)
            file.seek(max(0, length - TAIL_BYTES))
            text = file.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    return text if length <= TAIL_BYTES else text.partition("\n")[2]


def _training(request: HttpRequest, job_id: str) -> Job:
    job = Job.objects.trainings().filter(pk=job_id).first()
    if job is None:
        raise Http404(f"There is no training {job_id}.")
    if not job.may_be_changed_by(request.user):
        raise PermissionDenied("Only the owner of a training can read its log.")
    return job


def _place(job_id: str) -> Path:
    return folder_of(job_id) / LOG


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        while piece := await asyncio.to_thread(file.read, CHUNK):
            yield piece
