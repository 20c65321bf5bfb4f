"""The page that compares two to six evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.jobs.comparisons import shown
from apps.jobs.comparisons.job_runs import MAX_EPISODES, runs_of
from apps.jobs.models import Job
from gem import registry
from gem.evaluation.compare import MAX_RUNS, MIN_RUNS, Comparison
from gem.evaluation.compare import compare as compare_runs
from gem.evaluation.comparison import words
from gem.evaluation.comparison.runs import Measure, Run

SEEDS_ON_A_PAGE = 25
MAX_CANDIDATES = 30
OUTCOMES = ("won", "tie", "lost")
IDENTITY = ("env_version", "env_kwargs", "wrappers", "data_hash")
"""What two episodes of one environment and seed have to share to begin alike."""


@never_cache
@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """Compare evaluations on the seeds that they share. Those that a person may not see are not there."""
    keys = list(dict.fromkeys(request.GET.getlist("job")))[:MAX_RUNS]
    visible = Job.objects.visible_to(request.user).filter(kind=Job.Kind.EVALUATION)
    found = {job.pk: job for job in visible.for_page().filter(pk__in=keys)}
    jobs = [found[key] for key in keys if key in found]
    measure: Measure = "return" if request.GET.get("measure") == "return" else "success"
    listed = Job.objects.listed_for(request.user).filter(kind=Job.Kind.EVALUATION).exclude(pk__in=found)
    context: dict[str, Any] = {
        "jobs": jobs,
        "measure": measure,
        "query": urlencode([*(("job", job.pk) for job in jobs), ("measure", measure)]),
        "jobs_query": urlencode([("job", job.pk) for job in jobs]),
        "sides": _sides(jobs, measure),
        "has_room": len(jobs) < MAX_RUNS,
        "candidates": listed.for_page().order_by("-created")[:MAX_CANDIDATES] if len(jobs) < MAX_RUNS else [],
    }
    total = Job.objects.filter(pk__in=found).aggregate(total=Sum("episodes_done"))["total"] or 0
    context["too_many"] = total if total > MAX_EPISODES else 0
    if len(jobs) >= MIN_RUNS and total <= MAX_EPISODES:
        runs = runs_of(jobs, request.user)
        context |= _compared(request, compare_runs(runs, measure), runs, jobs)
    return render(request, "jobs/compare.html", context)


def _sides(jobs: list[Job], measure: str) -> list[dict[str, Any]]:
    """The chosen evaluations with their letters, and the address of the page without each of them."""
    return [
        {
            "letter": letter,
            "job": job,
            "without": urlencode([*(("job", other.pk) for other in jobs if other != job), ("measure", measure)]),
        }
        for letter, job in zip(shown.LETTERS, jobs, strict=False)
    ]


def _compared(request: HttpRequest, comparison: Comparison, runs: Sequence[Run], jobs: list[Job]) -> dict[str, Any]:
    """What the page shows of a comparison, with the pair and the outcome that were chosen."""
    number = _number(request.GET.get("pair", ""), len(comparison.pairs))
    pair = comparison.pairs[number]
    outcome = request.GET.get("outcome", "")
    outcome = outcome if outcome in OUTCOMES else ""
    alike = _alike(runs[pair.first], runs[pair.second])
    page = Paginator(shown.seeds(pair, outcome, alike), SEEDS_ON_A_PAGE).get_page(request.GET.get("page"))
    pairs, environments = shown.pair_rows(comparison), shown.environment_rows(pair, comparison.measure)
    return {
        "comparison": comparison,
        "scores": zip(shown.LETTERS, jobs, comparison.scores, shown.rank_texts(comparison), strict=False),
        "pair": pair,
        "shown": "" if pair.shown is None else words.amount(pair.shown, comparison.measure),
        "number": number,
        "letters": (shown.LETTERS[pair.first], shown.LETTERS[pair.second]),
        "pairs": pairs,
        "pairs_scale": shown.scale(pairs),
        "environments": environments,
        "environments_scale": shown.scale(environments),
        "outcome": outcome,
        "page": page,
        "unfinished": [job for job in jobs if job.state != Job.State.DONE],
    }


def _alike(first: Run, second: Run) -> set[str]:
    """The environments with one seat that begin alike in both runs, so that episodes can be replayed side by side."""
    return {
        env_id
        for env_id, settings in first.environments.items()
        if (known := registry.ENV_REGISTRY.get(env_id)) is not None
        and known.seats == 1
        and all(settings[name] == second.environments.get(env_id, {}).get(name) for name in IDENTITY)
    }


def _number(text: str, end: int) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 3 and int(text) < end else 0
