"""Pages of results from elsewhere: challenges, the form that sends their episodes, and rows that are only reported."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from apps.accounts import quotas
from apps.accounts.models import User
from apps.htmx import wants_part
from apps.leaderboard.boards.filters import DEFAULT_BENCHMARK
from apps.leaderboard.challenges import checking, drawing, reading, receiving, reports
from apps.leaderboard.challenges.drawing import ChallengeRefused
from apps.leaderboard.challenges.forms import ChallengeForm, EpisodesForm, NumbersForm
from apps.leaderboard.challenges.tries import Challenges, challenges_by_owner, challenges_of
from apps.leaderboard.models import Challenge, ReportedRow, Score
from apps.leaderboard.reading import find_benchmark
from apps.seasons.models import Season
from gem.benchmarks import Benchmark

Row = TypeVar("Row", Challenge, ReportedRow)
MOST = 100
"""Challenges, and verified rows, on a page."""


@never_cache
@require_GET
def challenges(request: HttpRequest) -> HttpResponse:
    """The challenges of the person who asks."""
    if not isinstance(request.user, User):
        return redirect_to_login(request.get_full_path())
    return render(request, "leaderboard/challenges.html", {"challenges": reading.of_owner(request.user)[:MOST]})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def challenge_new(request: HttpRequest) -> HttpResponse:
    """The form that draws a challenge of a benchmark."""
    benchmark = _benchmark(request)
    if not isinstance(request.user, User):
        return redirect_to_login(request.get_full_path())
    form = ChallengeForm(request.POST or None, initial={"visibility": request.user.default_visibility})
    row = _made(form, partial(drawing.draw, request.user, benchmark)) if request.method == "POST" else None
    if row is not None:
        return redirect(row)
    season = Season.objects.of(benchmark.name, benchmark.version).under_way().first()
    context = {
        "form": form,
        "benchmark": benchmark,
        "days": settings.CHALLENGE_DAYS,
        "tries": challenges_of(request.user.pk, season),
        "is_drawable": any(entry.hidden_seeds for entry in benchmark.entries),
    }
    return render(request, "leaderboard/challenge_new.html", context, status=422 if form.errors else 200)


@never_cache
@require_safe
def challenge(request: HttpRequest, challenge_id: str) -> HttpResponse:
    """A challenge of the person who asks: what to play, the form that sends it, and what became of it."""
    if not isinstance(request.user, User):
        return redirect_to_login(request.get_full_path())
    return _page(request, reading.find(request.user, challenge_id), EpisodesForm(initial={"challenge": challenge_id}))


@never_cache
@require_safe
def challenge_file(request: HttpRequest, challenge_id: str) -> HttpResponse:
    """The file that `gemweb eval --challenge` plays."""
    if not isinstance(request.user, User):
        return redirect_to_login(request.get_full_path())
    return reading.document_response(reading.find(request.user, challenge_id))


@require_POST
def push(request: HttpRequest) -> HttpResponse:
    """Take the episodes of a challenge. A worker executes them again."""
    if not isinstance(request.user, User):
        return redirect_to_login(reverse("leaderboard:challenges"))
    form = EpisodesForm(request.POST, request.FILES)
    row = reading.find(request.user, str(form.data.get("challenge", ""))[:20])
    if not form.is_valid():
        return _page(request, row, form, status=422)
    try:
        receiving.accept(request.user, row.pk, form.cleaned_data["file"])
    except ChallengeRefused as refusal:
        form.add_error(None, str(refusal))
        return _page(request, row, form, status=refusal.status)
    return redirect(row)


def _page(request: HttpRequest, row: Challenge, form: forms.Form, *, status: int = 200) -> HttpResponse:
    score, reported_row = reading.rows_of(row)
    context: dict[str, Any] = {
        "challenge": row,
        "form": form,
        "score": score,
        "reported": reported_row,
        "episodes": reading.episodes_of(row),
        "place": checking.place(row) if row.state == Challenge.State.SENT else None,
        "why_it_waits": quotas.why_checks_wait(row.owner) if row.state == Challenge.State.SENT else "",
        "tries": challenges_of(row.owner_id, row.season),
        "is_open": row.state == Challenge.State.OPEN and not row.is_over,
        "commands": [
            f"gemweb login {settings.SITE_URL}",
            f"gemweb challenge --get {row.pk} --out results",
            "gemweb eval --challenge results/challenge.json --agent random --out results/episodes.jsonl",
            "gemweb push results",
        ],
    }
    template = "leaderboard/challenge.html" + ("#standing" if wants_part(request) else "")
    return render(request, template, context, status=status)


@never_cache
@require_GET
def elsewhere(request: HttpRequest) -> HttpResponse:
    """The rows of a benchmark that were played elsewhere: verified ones, and apart from these, reported ones."""
    benchmark = _benchmark(request)
    season = Season.objects.of(benchmark.name, benchmark.version).first()
    context = {
        "benchmark": benchmark,
        "accounts": _accounts(benchmark, season),
        "reported": reading.reported_rows(benchmark),
        "is_drawable": any(entry.hidden_seeds for entry in benchmark.entries),
    }
    template = "leaderboard/elsewhere.html" + ("#elsewhere" if wants_part(request) else "")
    return render(request, template, context)


def _accounts(benchmark: Benchmark, season: Season | None) -> list[tuple[str, Challenges]]:
    """The accounts with verified rows in a season, and what became of all challenges of each."""
    scores = Score.objects.of(benchmark).in_season(season).newest(elsewhere=True)[:MOST]
    names = {score.job.owner_id: score.job.owner.get_username() for score in scores if score.job.owner}
    drawn = challenges_by_owner([*names], season)
    return sorted((names[owner_id], found) for owner_id, found in drawn.items() if owner_id in names)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def report_new(request: HttpRequest) -> HttpResponse:
    """The form that reports numbers from elsewhere."""
    benchmark = _benchmark(request)
    if not isinstance(request.user, User):
        return redirect_to_login(request.get_full_path())
    lines = "\n".join(f"{entry.env_id}, " for entry in benchmark.entries)
    form = NumbersForm(request.POST or None, initial={"visibility": request.user.default_visibility, "numbers": lines})
    row = _made(form, partial(reports.report, request.user, benchmark)) if request.method == "POST" else None
    if row is not None:
        messages.success(request, "The row is reported. It says that nothing proves its numbers.")
        return redirect(row)
    context = {"form": form, "benchmark": benchmark}
    return render(request, "leaderboard/report_new.html", context, status=422 if form.errors else 200)


@never_cache
@require_safe
def reported(request: HttpRequest, row_id: str) -> HttpResponse:
    """The page of a reported row, which says that nothing is proved."""
    row = reading.find_reported(request.user, row_id)
    return render(request, "leaderboard/reported.html", {"row": row, "is_mine": row.owner_id == request.user.pk})


@require_POST
def reported_delete(request: HttpRequest, row_id: str) -> HttpResponse:
    """Delete a reported row of the person who asks."""
    row = reading.find_reported(request.user, row_id)
    if row.owner_id != request.user.pk:
        raise Http404("You have no such reported row.")
    address = f"{reverse('leaderboard:benchmark')}?{urlencode({'benchmark': row.benchmark})}"
    ReportedRow.objects.filter(pk=row.pk).delete()
    messages.success(request, "The row is deleted.")
    return redirect(address)


def _benchmark(request: HttpRequest) -> Benchmark:
    """The benchmark that a request names; a page that is opened without one is that of the first board."""
    named = request.GET.get("benchmark") or request.POST.get("benchmark", "")
    return find_benchmark(named or ("" if request.method == "POST" else DEFAULT_BENCHMARK))


def _made(form: forms.Form, make: Callable[..., Row]) -> Row | None:
    """What is made of the values of a form, whose fields are its arguments; None if it is refused, as the form says."""
    if not form.is_valid():
        return None
    try:
        return make(**form.cleaned_data)
    except ChallengeRefused as refusal:
        form.add_error(None, str(refusal))
        return None
