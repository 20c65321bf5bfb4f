"""Downloads of tables, which are sent while they are read."""

from __future__ import annotations

from django.http import HttpRequest, StreamingHttpResponse

from apps import downloads
from apps.jobs.exports.tables import FORMATS, Format, TableName
from apps.jobs.models import Job
from apps.jobs.results import Tally


def download(request: HttpRequest, job: Job, table: TableName, form: Format) -> StreamingHttpResponse:
    """A download of a table of a job, as whoever asks may see it. The name of the file says whether it is partial."""
    from apps.jobs.exports.writing import streamed  # noqa: PLC0415 (Arrow takes a third of a second and 60 MB)

    rows = Job.objects.visible_to(request.user).filter(pk=job.pk)
    pieces = downloads.whole(streamed(job, table, form, request.user), rows)
    return downloads.download(request, pieces, filename(job, table, form), FORMATS[form])


def filename(job: Job, table: TableName, form: Format) -> str:
    """What the file is called: `job-ID-turns.parquet`, or `job-ID-turns-partial.parquet`."""
    partial = "-partial" if Tally.of(job.shards.all()).is_partial else ""
    return f"job-{job.pk}-{table}{partial}.{form}"
