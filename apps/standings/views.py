"""The duel board, the rows of people, and the button that plays the pairing that tells most."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.accounts import visitors
from apps.accounts.models import account_of
from apps.episodes.errors import Refusal
from apps.htmx import wants_part
from apps.play.shows import operations as shows
from apps.play.starting import limits, once
from apps.seasons.models import Season
from apps.standings import boards, people
from apps.standings.own import own_rating
from gem import benchmarks
from gem.errors import GemError, UsageError

PACE = 1.0
"""Seconds per turn of the game that the button begins."""


@never_cache
@require_safe
def duels(request: HttpRequest) -> HttpResponse:
    """The duel board: ratings of agents from all public games of two and duels, and the game to play next."""
    return render(request, "standings/duels.html", {"board": boards.board(request.user), "section": "leaderboard"})


@require_POST
def play_next(request: HttpRequest) -> HttpResponse:
    """Let the two agents of the pairing that tells most play a game live, and redirect to it."""
    visitor, digest = once.visitor_of(request), once.digest_of(request)
    if begun := once.begun(digest):
        return redirect(begun[0])
    found = boards.board(request.user)
    if found.pairing is None or not found.may_run:
        messages.error(request, "You cannot let these agents play. Log in, or start another game under Watch.")
        return redirect("standings:duels")
    try:
        limits.check_start(request)
        episode = shows.start(
            found.pairing.env_id,
            found.pairing.first,
            opponent=found.pairing.second,
            pace=PACE,
            user=account_of(request.user),
            visitor="" if request.user.is_authenticated else visitor,
            address=visitors.address(request),
            form=digest,
        )
    except (Refusal, GemError) as refusal:
        messages.error(request, str(refusal))
        return redirect("standings:duels")
    return redirect(episode)


@never_cache
@require_safe
def own(request: HttpRequest) -> HttpResponse:
    """The rating of the reader, a fragment for the page of their games, to which a browser is sent."""
    if not wants_part(request):
        return redirect("play:mine")
    rating = own_rating(request.user, visitors.known(request))
    return render(request, "standings/own.html", {"own": rating})


@never_cache
@require_safe
def people_rows(request: HttpRequest) -> HttpResponse:
    """People as rows of a benchmark (`benchmark`), or of one of its environments (`env_id`)."""
    try:
        benchmark = benchmarks.load(request.GET.get("benchmark", "games-easy"))
    except UsageError as error:
        raise Http404(str(error)) from error
    env_id = request.GET.get("env_id", "")
    if env_id and env_id not in benchmark.env_ids:
        raise Http404(f"{env_id} is not in the benchmark {benchmark.name}.")
    season = Season.objects.of(benchmark.name, benchmark.version).first()
    rows = people.rows_of(season, env_id)
    context = {"benchmark": benchmark, "env_id": env_id, "season": season, "rows": rows, "section": "leaderboard"}
    template = "standings/people.html#people" if wants_part(request) else "standings/people.html"
    return render(request, template, context)
