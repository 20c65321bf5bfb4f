"""Boards: their page, fragments of it for other pages, the page of a benchmark, and what maintainers decide."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.models import User
from apps.jobs.models import Job
from apps.leaderboard.boards import about, filters, marks, reading, site_rows
from apps.leaderboard.boards.page import board_page
from apps.leaderboard.details import scale_of
from apps.leaderboard.evidence import evidence_of
from apps.leaderboard.models import Score
from apps.leaderboard.proofs import reading as proofs
from apps.moderation.models import Decision
from apps.seasons.models import Season
from gem import benchmarks
from gem.benchmarks import Benchmark

TOP = 6
DECISIONS_ON_A_PAGE = 50


@never_cache
@require_GET
def benchmark(request: HttpRequest) -> HttpResponse:
    """The board of one benchmark, in one season or in all, with or without tools, overall or on one environment."""
    return board_page(request)


@never_cache
@require_GET
def top(request: HttpRequest) -> HttpResponse:
    """The first rows of the first board that has any, as a fragment for other pages."""
    scored = set(Score.objects.public().filter(env_id="").order_by().values_list("benchmark", flat=True).distinct())
    views = (_newest(benchmarks.load(name)) for name in benchmarks.names() if name in scored)
    view = next((view for view in views if view.rows), None) or _newest(benchmarks.load(filters.DEFAULT_BENCHMARK))
    context = {
        "benchmark": view.benchmark,
        "season": view.season,
        "rows": view.rows[:TOP],
        "site": site_rows.progress(view.benchmark, view.season),
        **scale_of(view.scores),
    }
    return render(request, "leaderboard/top.html", context)


def _newest(benchmark: Benchmark, env_id: str = "") -> reading.BoardView:
    """The board of the newest season that has rows; of the newest of all, if none has."""
    seasons = reading.seasons_of(benchmark)
    newest: list[Season | None] = [*seasons[:2]] or [None]
    found = [reading.read(benchmark, season, env_id=env_id) for season in newest]
    return next((view for view in found if view.rows), found[0])


@never_cache
@require_GET
def agents(request: HttpRequest) -> HttpResponse:
    """The ranking on one environment, as a fragment for its page; empty if no benchmark includes it."""
    env_id = request.GET.get("env_id", "")
    including = [found for found in map(benchmarks.load, benchmarks.names()) if env_id in found.env_ids]
    if not including:
        return HttpResponse("")
    views = [_newest(found, env_id) for found in including if _has_rows(found)] or [_newest(including[0], env_id)]
    view = next((view for view in views if view.rows), views[0])
    context = {
        "benchmark": view.benchmark,
        "env_id": env_id,
        "season": view.season,
        "rows": view.rows,
        "actions": {job: evidence.tally(env_id) for job, evidence in evidence_of(view.scores).items()},
        **scale_of(view.scores),
    }
    return render(request, "leaderboard/agents.html", context)


def _has_rows(benchmark: Benchmark) -> bool:
    return Score.objects.of(benchmark).filter(env_id="").exists()


@never_cache
@require_GET
def rules(request: HttpRequest) -> HttpResponse:
    """The page of a benchmark: its seasons, seeds, environments, anchors, rules, data, and how to cite it."""
    choice = filters.read(request.GET)
    return render(request, "leaderboard/about.html", about.context_of(choice.benchmark))


@require_POST
def mark(request: HttpRequest, score_id: int) -> HttpResponse:
    """Flag a row, withdraw it, or take that back, with a reason; for administrators. The field `do` names the verb."""
    if not (isinstance(request.user, User) and request.user.is_staff):
        raise Http404("The address may be mistyped, or the page was removed.")
    score = proofs.find(request.user, score_id)
    verb = request.POST.get("do", "")
    try:
        if verb not in marks.VERBS or score.env_id:
            raise marks.NoReason
        marks.mark(score, verb, request.POST.get("reason", ""), request.user)
        messages.success(request, "It is in the log, and your reason is shown to everybody beside the row.")
    except marks.NoReason:
        messages.error(request, "Nothing was changed: give a reason. Everybody can read it.")
    return redirect(score)


@never_cache
@require_GET
def log(request: HttpRequest) -> HttpResponse:
    """Everything that maintainers have decided about rows, the newest first. Nobody can change or delete it."""
    decisions = Decision.objects.filter(kind=marks.KIND)
    page = Paginator(decisions, DECISIONS_ON_A_PAGE).get_page(request.GET.get("page"))
    keys = [int(decision.key) for decision in page if decision.key.isdecimal()]
    scores = Score.objects.of_jobs(Job.objects.visible_to(request.user)).filter(pk__in=keys).select_related("agent")
    rows = {str(score.pk): score for score in scores}
    lines = [(decision, rows.get(decision.key)) for decision in page]
    return render(request, "leaderboard/log.html", {"page": page, "lines": lines})
