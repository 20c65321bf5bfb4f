"""The process log of a training: its end on the page, and all of it as a download. Only for its owner and staff.

A log contains paths of the machine and the output of libraries, so it is not public. Live events go to every open page
and do not include it: the page polls it while the training runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from apps.downloads import download
from apps.jobs.models import Job
from apps.trainings.records import folder_of

LOG_NAME = "log.txt"
TAIL_BYTES = 24_000
CHUNK = 1 << 16
STOP_POLLING = 286
"""htmx stops a repeated request on this status."""


@never_cache
@require_GET
def log_tail(request: HttpRequest, job_id: str) -> HttpResponse:
    """The end of the log as a fragment. The status tells htmx to stop polling when the training has ended."""
    job = _training(request, job_id)
    status = STOP_POLLING if job.over else 200
    return render(
        request, "trainings/training.html#run-log-text", {"job": job, "log_text": tail_of(job_id)}, status=status
    )


@never_cache
@require_GET
def log(request: HttpRequest, job_id: str) -> HttpResponseBase:
    """The whole log as plain text."""
    return log_file(request, job_id)


def log_file(request: HttpRequest, job_id: str) -> HttpResponseBase:
    """The download of a log, for its owner and staff.

    Raises:
        Http404: there is no such training, or it has no log yet.
        PermissionDenied: it belongs to somebody else.
    """
    _training(request, job_id)
    try:
        file = log_of(job_id).open("rb")
    except FileNotFoundError as error:
        raise Http404("This training has no log yet.") from error
    return download(request, _pieces(file), f"training-{job_id}.log", "text/plain; charset=utf-8")


def tail_of(job_id: str) -> str:
    """The last complete lines of the log; empty before there are any."""
    try:
        with log_of(job_id).open("rb") as file:
            length = file.seek(0, 2)
            file.seek(max(0, length - TAIL_BYTES))
            text = file.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    return text if length <= TAIL_BYTES else text.partition("\n")[2]


def _training(request: HttpRequest, job_id: str) -> Job:
    job = Job.objects.trainings().visible_to(request.user).filter(pk=job_id).first()
    if job is None:
        raise Http404(f"There is no training {job_id}.")
    if not job.may_be_changed_by(request.user):
        raise PermissionDenied("Only the owner of a training can read its log.")
    return job


def log_of(job_id: str) -> Path:
    """The path of the log, which exists after the training has started."""
    return folder_of(job_id) / LOG_NAME


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK):
            yield chunk
