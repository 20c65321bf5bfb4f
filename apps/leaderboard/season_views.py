"""The page of seasons: what is public of each from its first day, and its key when it is over."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from apps.seasons.models import Season
from gem import benchmarks


@never_cache
@require_GET
def seasons(request: HttpRequest) -> HttpResponse:
    """The seasons of all benchmarks or of one, the newest first, with their commitments and published keys."""
    chosen = request.GET.get("benchmark", "")
    found = Season.objects.order_by("-begins", "benchmark")
    if chosen in benchmarks.names():
        found = found.filter(benchmark=chosen)
    context = {
        "seasons": found[:MOST],
        "chosen": chosen if chosen in benchmarks.names() else "",
        "script": SCRIPT,
        "names": [name for name in benchmarks.names() if name in benchmarks.with_hidden_seeds()],
    }
    return render(request, "leaderboard/seasons.html", context)


MOST = 200
"""Seasons on the page."""
SCRIPT = """\
from gem.benchmarks import seeds

key = bytes.fromhex("KEY")
print(seeds.keeps(key, "COMMITMENT"))
order = seeds.order_of_play(key, "BENCHMARK", VERSION, "common", HIDDEN_SEEDS)
print([seeds.derive_seed(key, "BENCHMARK", VERSION, "ENVIRONMENT", "common", number) for number in order])
"""
"""Derives the seeds of a season from its published key."""
