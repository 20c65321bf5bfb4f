"""Pages of the leaderboard about one person and one row: ranked play, and the details of a row."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from apps.accounts import visitors
from apps.episodes.errors import Refusal
from apps.episodes.models import Episode
from apps.episodes.ranked.comparable import ranked_in
from apps.episodes.views import find
from apps.htmx import wants_part
from apps.leaderboard import human_tries, ranked_play, season_tries
from apps.leaderboard.boards import filters
from apps.leaderboard.boards.filters import Choice
from apps.leaderboard.boards.page import board_page
from apps.leaderboard.boards.reading import seasons_of
from apps.leaderboard.details import detail_of, find_score
from apps.leaderboard.models import Score
from apps.leaderboard.proofs import reading
from apps.leaderboard.versus import Verdict, compare, why_not
from apps.play.responses import with_wait
from apps.play.starting import limits, once
from apps.seasons.models import Season
from gem.benchmarks import Benchmark

TRIES_ON_A_PAGE = 50
"""The number of a person's own episodes on one page."""


@require_POST
def play(request: HttpRequest) -> HttpResponse:
    """Start an episode on a ranked seed that is new to this person, and redirect to it."""
    visitor, digest = once.visitor_of(request), once.digest_of(request)
    if begun := once.begun(digest):
        return redirect(begun[0])
    choice = filters.read(request.GET)
    benchmark, env_id = choice.benchmark, choice.env_id
    try:
        limits.check_start(request)
        episode = ranked_play.begin(benchmark, request.user, visitor, env_id=env_id, form=digest)
    except Refusal as refusal:
        return with_wait(board_page(request, refusal), refusal)
    return redirect(episode)


@never_cache
@require_GET
def yours(request: HttpRequest) -> HttpResponse:
    """A person's episodes on ranked seeds, whether each counts, and how they compare with the agents."""
    choice = filters.read(request.GET)
    benchmark, env_id = choice.benchmark, choice.env_id
    if (season := choice.season_of(seasons_of(benchmark))) is not None:
        return _in_season(request, choice, season)
    verdict = _verdict(request, benchmark, env_id, list(Score.objects.of(benchmark).with_tools(False).newest(env_id)))
    page = Paginator(verdict.tries, TRIES_ON_A_PAGE).get_page(request.GET.get("page"))
    context = {"benchmark": benchmark, "env_id": env_id, "verdict": verdict, "page": page}
    return render(request, "leaderboard/yours.html", context)


def _in_season(request: HttpRequest, choice: Choice, season: Season) -> HttpResponse:
    """A person's ranked episodes on the hidden seeds of a season."""
    seats = season_tries.own_seats(season, request.user, visitors.known(request), env_id=choice.env_id)
    page = Paginator(seats, TRIES_ON_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "benchmark": choice.benchmark,
        "env_id": choice.env_id,
        "season": season,
        "environments": season_tries.by_environment(choice.benchmark, season, seats),
        "page": page,
        "tries": [(seat, season_tries.why_not(seat)) for seat in page],
    }
    return render(request, "leaderboard/yours_in_season.html", context)


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
def row(request: HttpRequest, score_id: int) -> HttpResponse:
    """The page of one row: its results by environment, what proves them, and how to verify and reproduce them.

    The table of the leaderboard asks for the results alone.
    """
    score = find_score(request, score_id)
    if score is None:
        raise Http404("There is no such score.")
    detail = detail_of(request, score)
    if not wants_part(request):
        proof = reading.page_of(reading.find(request.user, score_id), request.user)
        return render(request, "leaderboard/row.html", {**detail, **proof, "opened": detail})
    return render(request, "leaderboard/row_detail.html", {"opened": detail})
