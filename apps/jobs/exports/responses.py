"""Downloads of tables, which are sent while they are read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from django.http import StreamingHttpResponse

from apps.accounts.models import Viewer
from apps.jobs.exports.tables import FORMATS, Format, TableName
from apps.jobs.models import Job
from apps.jobs.results import Tally
from apps.live.threads import DatabaseThreads

_in_thread = DatabaseThreads(2, "exports").run
"""Reads the parts of two downloads at a time; the others wait."""


def download(job: Job, table: TableName, form: Format, viewer: Viewer) -> StreamingHttpResponse:
    """A download of a table of a job, as this person may see it. The name of the file says whether it is partial."""
    from apps.jobs.exports.writing import streamed  # noqa: PLC0415 (Arrow takes a third of a second and 60 MB)

    pieces = streamed(job, table, form, viewer)
    response = StreamingHttpResponse(_send(pieces), content_type=FORMATS[form])
    response["Content-Disposition"] = f'attachment; filename="{filename(job, table, form)}"'
    response["X-Accel-Buffering"] = "no"
    return response


def filename(job: Job, table: TableName, form: Format) -> str:
    """What the file is called: `job-ID-turns.parquet`, or `job-ID-turns-partial.parquet`."""
    partial = "-partial" if Tally.of(job.shards.all()).is_partial else ""
    return f"job-{job.pk}-{table}{partial}.{form}"


async def _send(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await _in_thread(next, pieces, None)) is not None:
        if piece:
            yield piece
