"""The log of a job as a page to search, and as text to download."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.http import HttpRequest, StreamingHttpResponse

from apps import downloads
from apps.jobs.models import Job, JobEvent

LINES_ON_A_PAGE = 200
LINES_AT_A_TIME = 1000
MAX_SEARCH_CHARACTERS = 200
LEVELS = {"all": "all lines", "warnings": "warnings and errors", "errors": "errors"}


@dataclass(frozen=True, slots=True)
class LogPage:
    """A page of a log, the newest line first."""

    lines: list[JobEvent]
    older: int | None
    """The `seq` before which the next page begins; None on the last page."""


def page_of_log(job: Job, text: str, level: str, before: int | None) -> LogPage:
    """The lines of a job's log with this text and level before a `seq`; the newest ones, if it is None."""
    found = job.events.for_log().matching(text, level).order_by("-seq")
    if before is not None:
        found = found.filter(seq__lt=before)
    lines = list(found[: LINES_ON_A_PAGE + 1])
    has_more, lines = len(lines) > LINES_ON_A_PAGE, lines[:LINES_ON_A_PAGE]
    return LogPage(lines, lines[-1].seq if has_more else None)


def download(request: HttpRequest, job: Job, text: str = "", level: str = "all") -> StreamingHttpResponse:
    """The log as plain text, the oldest line first. It is sent as it is read."""
    pieces = downloads.whole(_pieces(job, text, level), Job.objects.visible_to(request.user).filter(pk=job.pk))
    return downloads.download(request, pieces, f"job-{job.pk}.log", "text/plain; charset=utf-8")


def _pieces(job: Job, text: str, level: str) -> Iterator[bytes]:
    found = job.events.for_log().matching(text, level).order_by("seq")
    after = -1
    while lines := list(found.filter(seq__gt=after)[:LINES_AT_A_TIME]):
        yield "".join(map(_line, lines)).encode()
        after = lines[-1].seq


def _line(event: JobEvent) -> str:
    mark = f" {event.tone}:" if event.tone else ""
    one_line = " ".join(event.text.splitlines())
    return f"{event.at:%Y-%m-%d %H:%M:%S}Z{mark} {one_line}\n"
