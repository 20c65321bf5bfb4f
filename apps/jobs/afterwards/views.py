"""The buttons of an owner on a job that was played: describe, archive, delete. And the download of its tables."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from apps.accounts.models import User
from apps.jobs.afterwards import operations
from apps.jobs.afterwards.forms import DescriptionForm
from apps.jobs.afterwards.operations import Description
from apps.jobs.errors import CannotDelete
from apps.jobs.exports.responses import download
from apps.jobs.exports.tables import FORMATS, TABLES, Format, TableName
from apps.jobs.models import Job
from apps.jobs.views import button, find_evaluation, only_evaluation


@button
def describe(request: HttpRequest, job: Job, by: User) -> HttpResponse:
    """Change the name, the notes and the tags of a job. What cannot be is shown in the form."""
    form = DescriptionForm(request.POST)
    if not form.is_valid():
        context = {"job": only_evaluation(job), "form": form}
        return render(request, "jobs/describe.html", context, status=422)
    operations.describe(only_evaluation(job).pk, by, Description(**form.cleaned_data))
    return redirect(job)


@button
def archive(request: HttpRequest, job: Job, by: User) -> HttpResponse:
    """Take a job out of the lists, or put it back: `archived` is empty then."""
    archived = bool(request.POST.get("archived"))
    operations.set_archived(only_evaluation(job).pk, by, archived=archived)
    if archived:
        messages.info(request, "The job is archived: it is hidden from the lists. The filter Archived shows it.")
    return redirect(job)


@button
def delete(request: HttpRequest, job: Job, by: User) -> HttpResponse:
    """Delete a job with its episodes."""
    try:
        operations.delete(only_evaluation(job).pk, by)
    except CannotDelete as refusal:
        messages.error(request, str(refusal))
        return redirect(job)
    messages.info(request, f"The evaluation “{job.title}” was deleted with its {job.episodes_done:,} episodes.")
    return redirect("jobs:list")


@never_cache
@require_GET
def export(request: HttpRequest, job_id: str, table: str, form: str) -> HttpResponseBase:
    """The download of a table of a job."""
    job = find_evaluation(request, job_id)
    if table not in TABLES or form not in FORMATS:
        raise Http404("There are tables of episodes, turns and scores, as csv, jsonl and parquet.")
    return download(request, job, cast("TableName", table), cast("Format", form))
