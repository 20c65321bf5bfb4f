"""The page on which one reads the results of an evaluation, and its parts, which the job's page loads one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from apps.episodes.lists.paging import page_number
from apps.htmx import wants_part
from apps.jobs.analysis import reading
from apps.jobs.models import Job
from apps.jobs.views import find_evaluation


def _groups(job: Job, asked: Mapping[str, str]) -> dict[str, Any]:
    groups = reading.groups_of(job)
    by = "difficulty" if asked.get("by") == "difficulty" else "category"
    return {"groups": groups, "by": by, "shown": groups.difficulties if by == "difficulty" else groups.categories}


def _seeds(job: Job, asked: Mapping[str, str]) -> dict[str, Any]:
    page, env_page = (page_number(asked.get(name, "")) for name in ("seeds", "environments"))
    return {"map": reading.seed_map_of(job, page, env_page)}


def _distributions(job: Job, asked: Mapping[str, str]) -> dict[str, Any]:
    env_id = asked.get("env_id", "")
    return {"distributions": reading.distributions_of(job, env_id), "env_id": env_id}


def _failures(job: Job, asked: Mapping[str, str]) -> dict[str, Any]:
    return {"failures": reading.failures_of(job)}


def _replays(job: Job, asked: Mapping[str, str]) -> dict[str, Any]:
    return {"replays": reading.replays_of(job)}


PARTS: Mapping[str, Callable[[Job, Mapping[str, str]], dict[str, Any]]] = {
    "groups": _groups,
    "seeds": _seeds,
    "distributions": _distributions,
    "failures": _failures,
    "replays": _replays,
}


@never_cache
@require_GET
def results(request: HttpRequest, job_id: str) -> HttpResponse:
    """All parts on a page of their own; htmx gets the one that `part` names."""
    job = find_evaluation(request, job_id)
    part = request.GET.get("part", "")
    if part in PARTS and wants_part(request):
        context = {"job": job, "part": part, **PARTS[part](job, request.GET)}
        return render(request, f"jobs/reading/{part}.html", context)
    contents: dict[str, Any] = {}
    for read in PARTS.values():
        contents |= read(job, request.GET)
    return render(request, "jobs/results.html", {"job": job, **contents})
