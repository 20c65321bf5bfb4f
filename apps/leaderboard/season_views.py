"""The page of seasons: what is public of each from its first day, and its key when it is over."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from apps.seasons.models import DAILY, Season
from gem import benchmarks
from gem.errors import UsageError


@never_cache
@require_GET
def seasons(request: HttpRequest) -> HttpResponse:
    """The seasons of all benchmarks or of one, the newest first, with their commitments and published keys."""
    chosen = request.GET.get("benchmark", "")
    found = Season.objects.exclude(benchmark=DAILY).order_by("-begins", "benchmark")
    is_known = _is_known(chosen)
    found = found.filter(benchmark=chosen) if is_known else found.exclude(benchmark__contains=".")
    context = {
        "seasons": found[:MOST],
        "chosen": chosen if is_known else "",
        "script": SCRIPT,
        "names": [name for name in benchmarks.names() if name in benchmarks.with_hidden_seeds()],
    }
    return render(request, "leaderboard/seasons.html", context)


def _is_known(name: str) -> bool:
    """Whether there is a benchmark with this name that the person may know of; those of people are in no list here."""
    try:
        benchmarks.load(name)
    except UsageError:
        return False
    return True


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
