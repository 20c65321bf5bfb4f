"""Pages of the benchmarks of people: the list, the form, and one with its versions."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.models import User
from apps.benchmarks import operations, sources
from apps.benchmarks.forms import BenchmarkForm
from apps.benchmarks.models import BenchmarkVersion, OwnBenchmark
from apps.benchmarks.operations import BenchmarkRefused
from apps.htmx import wants_part
from apps.visibility import save_choice
from gem import benchmarks

MOST = 100
EXAMPLE = "duel"
"""The benchmark whose file the form shows."""


@never_cache
@require_safe
def list(request: HttpRequest) -> HttpResponse:  # noqa: A001 (the page's name)
    """The benchmarks of the person who asks, and those that others have opened."""
    rows = OwnBenchmark.objects.listed_for(request.user).select_related("owner").prefetch_related("versions")
    return render(request, "benchmarks/list.html", {"rows": rows[:MOST]})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form that adds a benchmark, or a version of one."""
    if not isinstance(request.user, User):
        return redirect_to_login(reverse("benchmarks:new"))
    form = BenchmarkForm(request.POST, request.FILES) if request.method == "POST" else BenchmarkForm()
    if request.method == "POST" and form.is_valid():
        try:
            version = operations.add(request.user, form.cleaned_data["text"], form.cleaned_data["visibility"])
        except BenchmarkRefused as refusal:
            for reason in refusal.reasons:
                form.add_error(None, reason)
        else:
            return redirect(version.benchmark)
    context = {"form": form, "example": benchmarks.text_of(EXAMPLE)}
    return render(request, "benchmarks/new.html", context, status=422 if form.errors else 200)


@never_cache
@require_safe
def benchmark(request: HttpRequest, name: str) -> HttpResponse:
    """A benchmark: its versions, what is wrong with the newest one, and what can be done with it."""
    row = find(request, name)
    versions = row.versions.all()[:MOST]
    newest = versions[0] if versions else None
    context: dict[str, Any] = {
        "row": row,
        "versions": versions,
        "newest": newest,
        "found": sources.find(name, None),
        "is_mine": row.owner_id == request.user.pk,
    }
    template = "benchmarks/benchmark.html" + ("#standing" if wants_part(request) else "")
    return render(request, template, context)


@never_cache
@require_safe
def file(request: HttpRequest, name: str) -> HttpResponse:
    """The file of a benchmark in its newest version that is ready, or in the one that `version` names."""
    row = find(request, name)
    wanted = request.GET.get("version", "")
    versions = row.versions.filter(state=BenchmarkVersion.State.READY)
    if wanted:
        is_number = wanted.isascii() and wanted.isdecimal() and len(wanted) < 10
        versions = versions.filter(number=int(wanted)) if is_number else versions.none()
    found = versions.first()
    if found is None:
        raise Http404("There is no such version that is ready.")
    response = HttpResponse(
        json.dumps(found.document, indent=2, ensure_ascii=False) + "\n", content_type="application/json"
    )
    response["Content-Disposition"] = f'attachment; filename="{row.name}-v{found.number}.json"'
    return response


@require_POST
def visibility(request: HttpRequest, name: str) -> HttpResponse:
    """Open a benchmark to more people. Only its owner can."""
    row = _own(request, name)
    try:
        save_choice(request, lambda chosen: operations.open_up(row, chosen))
    except BenchmarkRefused as refusal:
        messages.error(request, str(refusal))
    return redirect(row)


@require_POST
def delete(request: HttpRequest, name: str) -> HttpResponse:
    """Delete a benchmark on which nothing was ranked. Only its owner can."""
    row = _own(request, name)
    try:
        operations.delete(row)
    except BenchmarkRefused as refusal:
        messages.error(request, str(refusal))
        return redirect(row)
    messages.success(request, f"{name} is deleted.")
    return redirect("benchmarks:list")


def find(request: HttpRequest, name: str) -> OwnBenchmark:
    """A benchmark that this person may see.

    Raises:
        Http404: there is none.
    """
    row = OwnBenchmark.objects.visible_to(request.user).select_related("owner").named(name).first()
    if row is None:
        raise Http404("There is no such benchmark, or it is private.")
    return row


def _own(request: HttpRequest, name: str) -> OwnBenchmark:
    row = find(request, name)
    if row.owner_id != request.user.pk:
        raise PermissionDenied("Only the owner of a benchmark can change it.")
    return row
