"""The results of evaluations to read and to export, and what their owners do with them afterwards.

They are operations of the same addresses as those of `jobs`, so they are on its router.
"""

from __future__ import annotations

from typing import Annotated

from django.db import transaction
from django.http import HttpRequest, HttpResponseBase
from ninja import Query, Status

from apps.api.answers import readings
from apps.api.callers import account, manager
from apps.api.forms import checked, entries
from apps.api.paging import Cursor, Limit, read_number
from apps.api.routers.jobs import answer_about, find_evaluation, router
from apps.jobs.afterwards import operations
from apps.jobs.afterwards.forms import DescriptionForm
from apps.jobs.afterwards.operations import Description
from apps.jobs.analysis import reading
from apps.jobs.analysis.seeds import seed_results
from apps.jobs.exports.about import about
from apps.jobs.exports.responses import download
from apps.jobs.exports.tables import FORMATS, TABLES, Format, TableName
from apps.jobs.models import Job
from gem.client import schemas

__all__ = ["router"]

MEDIA = " ".join(media.partition(";")[0] for media in FORMATS.values())


@router.get("/{job_id}/analysis", response=schemas.Analysis)
def get_analysis(
    request: HttpRequest,
    job_id: str,
    env_id: Annotated[str, Query("", max_length=120, description="Only for the distributions.")] = "",
) -> schemas.Analysis:
    """What one reads in the results of an evaluation: groups, distributions, failures, and the replays to see first."""
    job = find_evaluation(request, job_id)
    return readings.analysis_of(
        reading.groups_of(job), reading.distributions_of(job, env_id), reading.failures_of(job), reading.replays_of(job)
    )


@router.get("/{job_id}/seeds", response=schemas.SeedPage)
def list_seeds(request: HttpRequest, job_id: str, cursor: Cursor = "", limit: Limit = 50) -> schemas.SeedPage:
    """The outcome of every seed in every environment of an evaluation, by environment and seed."""
    job = find_evaluation(request, job_id)
    start = read_number(cursor) or 0
    rows = seed_results(job, start, limit + 1)
    items = [readings.seed_of(row) for row in rows[:limit]]
    return schemas.SeedPage(items=items, next=str(start + limit) if len(rows) > limit else None)


@router.get("/{job_id}/exports", response=schemas.Exports)
def describe_exports(request: HttpRequest, job_id: str) -> schemas.Exports:
    """The tables of an evaluation that one can export: what each column means, and the data that were played on."""
    job = find_evaluation(request, job_id)
    return readings.exports_of(about(job, "episodes", request.user), TABLES)


@router.get("/{job_id}/export/{table}.{form}", response=bytes, openapi_extra={"x-media-type": MEDIA})
def export_table(request: HttpRequest, job_id: str, table: TableName, form: Format) -> HttpResponseBase:
    """A table of an evaluation: its episodes, turns or scores, as CSV, JSON Lines or Parquet. It is sent as it is read.

    The name of the file says whether it is partial. Parquet files have the schema, the request and the data in them.
    """
    return download(request, find_evaluation(request, job_id), table, form)


@router.patch("/{job_id}", response=schemas.Job, auth=manager)
def describe_job(request: HttpRequest, job_id: str, sent: schemas.JobChange) -> schemas.Job:
    """Change the name, the notes or the tags of your evaluation, or archive it. What is left out stays."""
    job = find_evaluation(request, job_id)
    by = account(request)
    with transaction.atomic():
        Job.objects.select_for_update(no_key=True).get(pk=job.pk)  # what is left out is that of this moment
        job.refresh_from_db(fields=["name", "notes", "tags"])
        values = {"name": job.name, "notes": job.notes, "tags": job.tags}
        values |= {name: value for name, value in sent.model_dump(exclude={"archived"}).items() if value is not None}
        form = checked(DescriptionForm(entries({**values, "tags": ", ".join(values["tags"])})))
        operations.describe(job.pk, by, Description(**form.cleaned_data))
        if sent.archived is not None:
            operations.set_archived(job.pk, by, archived=sent.archived)
    return answer_about(request, job.pk)


@router.delete("/{job_id}", response={204: None}, auth=manager)
def delete_job(request: HttpRequest, job_id: str) -> Status[None]:
    """Delete your evaluation with its results and episodes. It must have ended, and ranked ones cannot be deleted."""
    operations.delete(find_evaluation(request, job_id).pk, account(request))
    return Status(204, None)
