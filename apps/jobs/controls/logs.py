"""The log of a job as a page to search, and as text to download."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from django.http import StreamingHttpResponse

from apps.jobs.models import Job, JobEvent
from apps.live.threads import DatabaseThreads

LINES_ON_A_PAGE = 200
LINES_AT_A_TIME = 1000
MAX_SEARCH_CHARACTERS = 200
LEVELS = {"all": "all lines", "warnings": "warnings and errors", "errors": "errors"}
_in_thread = DatabaseThreads(2, "logs").run
"""Reads the pieces of a few downloads at a time; the others wait."""


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


def download(job: Job, text: str = "", level: str = "all") -> StreamingHttpResponse:
    """The log as plain text, the oldest line first. It is sent as it is read."""
    response = StreamingHttpResponse(_send(_pieces(job, text, level)), content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="job-{job.pk}.log"'
    response["X-Accel-Buffering"] = "no"
    return response


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


async def _send(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await _in_thread(next, pieces, None)) is not None:
        yield piece
