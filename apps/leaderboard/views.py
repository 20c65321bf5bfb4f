"""Pages of the leaderboard: the ranking, the details of a row, and fragments for other pages."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

import gem
from apps.accounts import visitors
from apps.episodes.errors import Refusal
from apps.episodes.models import Episode
from apps.episodes.ranked import ranked_in
from apps.episodes.views import find
from apps.htmx import wants_part
from apps.jobs import pages
from apps.jobs.models import Job
from apps.jobs.results import datasets
from apps.jobs.results.tallies import Tally
from apps.leaderboard import human_tries, ranked_play
from apps.leaderboard.board import Row, ranked
from apps.leaderboard.evidence import actions_by_environment, actions_of, all_of, stand_ins_of
from apps.leaderboard.frontier import frontier, tokens_per_episode
from apps.leaderboard.models import Score
from apps.leaderboard.proofs import reading
from apps.leaderboard.versus import Verdict, compare, why_not
from apps.play import limits
from apps.play.responses import with_wait
from apps.seasons.models import Season
from gem import benchmarks
from gem.benchmarks import Benchmark
from gem.errors import UsageError
from gem.evaluation.data import DataUse

DEFAULT_BENCHMARK = "games"
TOP = 5
TRIES_ON_A_PAGE = 50
"""The number of a person's own episodes on one page."""
MOST_UNPROVED = 20
"""Rows in the list of those that do not rank yet."""
AGENTS_SHOWN = 5
"""Agents in the panel that compares a person with them. The page of the person's episodes shows all."""
SORTS = {
    "score": lambda row: (-row.score.mean,),
    "return": lambda row: (-row.score.mean_return,),
    "solved": lambda row: (-row.score.success_rate,),
    "n": lambda row: (-row.score.n,),
    "agent": lambda row: (row.score.agent.name.lower(),),
    "date": lambda row: (-row.score.created.timestamp(),),
}


@never_cache
@require_GET
def benchmark(request: HttpRequest) -> HttpResponse:
    """The ranking of one benchmark, with or without tools, overall or on one environment, in the requested order."""
    return _page(request)


def _page(request: HttpRequest, refusal: Refusal | None = None) -> HttpResponse:
    benchmark, env_id, tools = _parse_query(request)
    sort = request.GET.get("sort", "score")
    sort = sort if sort in SORTS else "score"
    scores = list(Score.objects.of(benchmark).with_tools(tools).newest(env_id))
    rows = sorted(ranked(scores), key=SORTS[sort])
    unproved = Score.objects.of(benchmark).with_tools(tools).unproved().filter(env_id=env_id).order_by("-created")
    unproved = unproved.select_related("agent", "job__owner", "job__reexecution")
    tokens = tokens_per_episode(scores, env_id)
    stand_ins = stand_ins_of(scores)
    opened = request.GET.get("row", "")
    context = {
        "benchmark": benchmark,
        "names": [benchmarks.load(name) for name in benchmarks.names()],
        "env_id": env_id,
        "sort": sort,
        "tools": tools,
        "both": tools or Score.objects.of(benchmark).with_tools(True).exists(),
        "rows": rows,
        "unproved": [(score, reading.standing_of(score.job)) for score in unproved[:MOST_UNPROVED]],
        "season": Season.objects.of(benchmark.name, benchmark.version).first(),
        "spent": tokens,
        "actions": actions_of(scores, env_id),
        "stand_ins": all_of(stand_ins),
        "frontier": frontier(scores, tokens) if scores else None,
        "opened": _detail(request, int(opened))
        if opened.isascii() and opened.isdecimal() and len(opened) < 12
        else None,
        "running": _running(request, benchmark),
        "verdict": None if tools else _verdict(request, benchmark, env_id, scores),
        "agents_shown": AGENTS_SHOWN,
        "notice": refusal,
        **_scale(scores),
    }
    return render(request, "leaderboard/benchmark.html", context, status=refusal.status if refusal else 200)


@require_POST
def play(request: HttpRequest) -> HttpResponse:
    """Start an episode on a ranked seed that is new to this person, and redirect to it."""
    benchmark, env_id, _ = _parse_query(request)
    try:
        limits.check_start(request)
        episode = ranked_play.begin(benchmark, request.user, visitors.key(request), env_id=env_id)
    except Refusal as refusal:
        return with_wait(_page(request, refusal), refusal)
    return redirect(episode)


@never_cache
@require_GET
def yours(request: HttpRequest) -> HttpResponse:
    """A person's episodes on ranked seeds, whether each counts, and how they compare with the agents."""
    benchmark, env_id, _ = _parse_query(request)
    verdict = _verdict(request, benchmark, env_id, list(Score.objects.of(benchmark).with_tools(False).newest(env_id)))
    page = Paginator(verdict.tries, TRIES_ON_A_PAGE).get_page(request.GET.get("page"))
    context = {"benchmark": benchmark, "env_id": env_id, "verdict": verdict, "page": page}
    return render(request, "leaderboard/yours.html", context)


@never_cache
@require_GET
def seed(request: HttpRequest, episode_id: str) -> HttpResponse:
    """The ranked agents on the seed of an episode that is over; an empty page if the seed is not ranked."""
    episode = find(request, episode_id)
    benchmark = ranked_in(episode)
    context = {
        "episode": episode,
        "benchmark": benchmark,
        **(_agents_on_seed(request, episode, benchmark) if benchmark else {}),
    }
    template = "leaderboard/seed.html#agents-on-seed" if wants_part(request) else "leaderboard/seed.html"
    return render(request, template, context)


def _verdict(request: HttpRequest, benchmark: Benchmark, env_id: str, scores: list[Score]) -> Verdict:
    return human_tries.verdict(benchmark, scores, request.user, visitors.known(request), env_id=env_id)


def _agents_on_seed(request: HttpRequest, episode: Episode, benchmark: Benchmark) -> dict[str, Any]:
    """The ranked agents' episodes on the seed, the best first, and whether the episode counts for the user."""
    if not episode.over:
        return {}
    visitor = visitors.known(request)
    episodes = list(human_tries.rivals(benchmark, episode).with_seats())
    returns = {rival.pk: rival.seats.all()[0].total_reward for rival in episodes}
    seat = episode.seats.select_related("agent").get()
    first = human_tries.first_try(episode, request.user, visitor)
    return {
        "rivals": sorted(episodes, key=lambda rival: -returns[rival.pk]),
        "seat": seat,
        "own": seat.belongs_to(request.user, visitor),
        "against": compare(seat.total_reward, returns.values()) if episode.status != Episode.Status.FAILED else None,
        "is_first": first is not None and first.episode_id == episode.pk,
        "why_not": why_not(first) if first else "",
    }


@never_cache
@require_GET
def scores(request: HttpRequest) -> HttpResponse:
    """The ranking as a CSV file."""
    benchmark, env_id, tools = _parse_query(request)
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="gemweb-{benchmark.name}-v{benchmark.version}.csv"'
    writer = csv.writer(response)
    writer.writerow(COLUMNS)
    listed = list(Score.objects.of(benchmark).with_tools(tools).newest(env_id))
    spent, stand_ins, actions = tokens_per_episode(listed, env_id), stand_ins_of(listed), actions_of(listed, env_id)
    for row in ranked(listed):
        key = row.score.job_id
        writer.writerow(_cells(row, env_id, spent.get(key), actions[key], stand_ins[key]))
    return response


COLUMNS = (
    "rank",
    "agent",
    "owner",
    "tools",
    "environment",
    "score",
    "low",
    "high",
    "why_no_interval",
    "return",
    "solved",
    "episodes",
    "errors",
    "partial",
    "solved_low",
    "solved_high",
    "stand_in_data",
    "tokens_per_episode",
    "actions",
    "unreadable",
    "forbidden",
    "benchmark",
    "version",
    "date",
    "job",
    "tier",
)


def _cells(row: Row, env_id: str, tokens: float | None, tally: Tally, stand_ins: Iterable[DataUse]) -> list[Any]:
    score, owner = row.score, row.score.job.owner
    return [
        row.rank,
        _csv_text(score.agent.name),
        owner.username if owner else "",
        _csv_text(score.tools),
        env_id or "all",
        *(score.mean, score.low, score.high, score.reason),
        *(score.mean_return, score.success_rate, score.n, score.errors),
        *("yes" if score.errors else "no", score.success_low, score.success_high),
        "; ".join(f"{use.env_id}: {use.name} {use.data_hash} for {use.stands_in_for}" for use in stand_ins),
        "" if tokens is None else round(tokens, 1),
        *(tally.actions or "", tally.unreadable_share, tally.forbidden_share),
        *(score.benchmark, score.benchmark_version, score.created.isoformat(), score.job_id),
        reading.standing_of(score.job).tier,
    ]


def _csv_text(text: str) -> str:
    """Text that a person entered, escaped where a spreadsheet would read it as a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


@never_cache
@require_GET
def row(request: HttpRequest, score_id: int) -> HttpResponse:
    """The page of one row: its results by environment, what proves them, and how to verify and reproduce them.

    The table of the leaderboard asks for the results alone.
    """
    detail = _detail(request, score_id)
    if detail is None:
        raise Http404("There is no such score.")
    if not wants_part(request):
        proof = reading.page_of(reading.find(request.user, score_id))
        return render(request, "leaderboard/row.html", {**detail, **proof, "opened": detail})
    return render(request, "leaderboard/benchmark.html#detail", {"opened": detail})


@never_cache
@require_GET
def top(request: HttpRequest) -> HttpResponse:
    """The first rows, as a fragment for other pages."""
    benchmark = benchmarks.load(DEFAULT_BENCHMARK)
    scores = list(Score.objects.of(benchmark).with_tools(False).newest())
    context = {
        "benchmark": benchmark,
        "rows": ranked(scores)[:TOP],
        "running": _running(request, benchmark),
        **_scale(scores),
    }
    return render(request, "leaderboard/top.html", context)


@never_cache
@require_GET
def agents(request: HttpRequest) -> HttpResponse:
    """The ranking on one environment, as a fragment for its page; empty if no benchmark includes it."""
    env_id = request.GET.get("env_id", "")
    for name in benchmarks.names():
        benchmark = benchmarks.load(name)
        if env_id in benchmark.env_ids:
            scores = list(Score.objects.of(benchmark).with_tools(False).newest(env_id))
            context = {
                "benchmark": benchmark,
                "env_id": env_id,
                "rows": ranked(scores),
                "actions": actions_of(scores, env_id),
                **_scale(scores),
            }
            return render(request, "leaderboard/agents.html", context)
    return HttpResponse("")


def _parse_query(request: HttpRequest) -> tuple[Benchmark, str, bool]:
    """The requested benchmark, its environment (empty for all), and whether with tools."""
    benchmark, env_id = _benchmark(request), request.GET.get("env_id", "")
    if env_id and env_id not in benchmark.env_ids:
        raise Http404(f"{env_id} is not in the benchmark {benchmark.name}.")
    return benchmark, env_id, request.GET.get("tools") == "with"


def _benchmark(request: HttpRequest) -> Benchmark:
    try:
        return benchmarks.load(request.GET.get("benchmark", DEFAULT_BENCHMARK))
    except UsageError as error:
        raise Http404(str(error)) from error


def _scale(scores: list[Score]) -> dict[str, float]:
    """The ends of the common axis of all intervals in a table."""
    return {
        "low": min([0.0, *(score.mean if score.low is None else score.low for score in scores)]),
        "high": max([1.0, *(score.mean if score.high is None else score.high for score in scores)]),
    }


def _running(request: HttpRequest, benchmark: Benchmark) -> list[pages.Item]:
    jobs = Job.objects.active().listed_for(request.user).filter(spec__benchmark=benchmark.name)
    return pages.items(jobs.for_page().order_by("created"))


def _detail(request: HttpRequest, score_id: int) -> dict[str, Any] | None:
    """The details of a score; None if there is no such score, its job is private, or its job or agent is hidden."""
    visible = Score.objects.of_jobs(Job.objects.visible_to(request.user))
    score = visible.select_related("agent", "job__agent", "job__owner").filter(pk=score_id).first()
    if score is None:
        return None
    parts = list(Score.objects.filter(job=score.job).exclude(env_id="").order_by("pk"))
    earlier = Score.objects.of_jobs(Job.objects.listed_for(request.user)).filter(
        agent=score.agent,
        benchmark=score.benchmark,
        env_id=score.env_id,
        tools=score.tools,
        job__owner=score.job.owner,
    )
    return {
        "score": score,
        "parts": parts,
        "actions": actions_by_environment(score.job_id),
        "jobs": earlier.exclude(pk=score.pk).select_related("job").order_by("-created")[:5],
        "set_up": pages.set_up(score.job),
        "engine": gem.__version__,
        "data": datasets.used(score.job),
        **_scale(parts),
    }
