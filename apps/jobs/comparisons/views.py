"""The page that compares two to six evaluations or agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.jobs import estimates
from apps.jobs.comparisons import shown
from apps.jobs.comparisons.computing import MAX_EPISODES, Reading, document, settings_of
from apps.jobs.comparisons.sides import Side, candidates, sides_of
from apps.jobs.decisions.reading import between
from gem import registry
from gem.evaluation.compare import MAX_RUNS, MIN_RUNS
from gem.evaluation.comparison import power, words
from gem.evaluation.comparison.differences import Difference
from gem.evaluation.comparison.runs import Measure

SEEDS_ON_A_PAGE = 25
MAX_CANDIDATES = 24
MAX_ENVIRONMENTS = 300
OUTCOMES = ("won", "tie", "lost")
IDENTITY = ("env_version", "env_kwargs", "wrappers", "data_hash")
"""What two episodes of one environment and seed have to share to begin alike."""


@never_cache
@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """Compare evaluations on the seeds that they share. Those that a person may not see are not there."""
    env_ids, sides, measure = _asked(request)
    find = request.GET.get("find", "").replace("\0", "").strip()[:200]
    has_room = len(sides) < MAX_RUNS
    more_jobs, more_agents = candidates(request.user, find, sides, MAX_CANDIDATES) if has_room else ([], [])
    entries, kept = [side.entry for side in sides], [("env_id", env_id) for env_id in env_ids]
    asked = {(kind, name) for kind in ("job", "agent") for name in request.GET.getlist(kind) if name}
    context: dict[str, Any] = {
        "sides": [
            (side, urlencode([*(one for one in entries if one != side.entry), *kept, ("measure", measure)]))
            for side in sides
        ],
        "entries": [*entries, *kept],
        "measure": measure,
        "query": urlencode([*entries, *kept, ("measure", measure)]),
        "sides_query": urlencode([*entries, *kept]),
        "has_room": has_room,
        "missing": len(asked.difference(entries)) if has_room else 0,
        "find": find,
        "more_jobs": more_jobs,
        "more_agents": more_agents,
        "empty": [side for side in sides if not side.jobs],
        "env_ids": env_ids,
    }
    reading = Reading([side for side in sides if side.jobs], measure)
    context["too_many"] = reading.episodes if reading.episodes > MAX_EPISODES else 0
    if len(reading.sides) >= MIN_RUNS and not context["too_many"]:
        context |= _compared(request, reading)
    return render(request, "jobs/compare.html", context)


@never_cache
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """Download a comparison as JSON, as `gemweb compare --json` prints it. The page says why there is none."""
    _, sides, measure = _asked(request)
    reading = Reading([side for side in sides if side.jobs], measure)
    if len(reading.sides) < MIN_RUNS or reading.episodes > MAX_EPISODES:
        return redirect(f"{reverse('comparisons:compare')}?{request.GET.urlencode()}")
    response = JsonResponse(document(reading, request.user), json_dumps_params={"indent": 2})
    response["Content-Disposition"] = 'attachment; filename="comparison.json"'
    return response


def _asked(request: HttpRequest) -> tuple[list[str], list[Side], Measure]:
    """The environments, the sides and the measure that an address names."""
    asked = request.GET
    env_ids = list(dict.fromkeys(asked.getlist("env_id")[:MAX_ENVIRONMENTS]))
    env_ids = [env_id for env_id in env_ids if env_id in registry.ENV_REGISTRY]
    sides = sides_of(request.user, asked.getlist("job"), asked.getlist("agent"), env_ids)
    return env_ids, sides, "return" if asked.get("measure") == "return" else "success"


def _compared(request: HttpRequest, reading: Reading) -> dict[str, Any]:
    """What the page shows of a comparison, with the pair that was chosen."""
    computed, sides = reading.computed, reading.sides
    comparison = computed.comparison
    number = _number(request.GET.get("pair", ""), len(comparison.pairs))
    pair, square = comparison.pairs[number], computed.squares[number]
    letters = [side.letter for side in sides]
    pairs = shown.pair_rows(comparison, letters)
    environments = shown.environment_rows(pair, comparison.measure, letters)
    settings, cautions = settings_of(reading, request.user)
    points = request.GET.get("points", "")[:20]
    rows = shown.side_rows(sides, comparison, request.user)
    stops = between([job for side in sides for job in side.jobs], request.user)
    decided = [one for one in stops if one.is_of(sides[pair.first].jobs, sides[pair.second].jobs)]
    return {
        "comparison": comparison,
        "decided": decided[0] if decided else None,
        "verdicts": [one for one in stops if one not in decided],
        "rows": rows,
        "has_tokens": any(row.score.tokens for row in rows),
        "has_costs": any(row.cost is not None for row in rows),
        "by_agent": [side for side in sides if side.is_agent],
        "cautions": cautions,
        "settings": shown.setting_rows(settings),
        "differing": sum(row.differs for row in settings),
        "equal": sum(not row.differs for row in settings),
        "letters_of_all": letters,
        "pair": pair,
        "square": square,
        "square_says": square.in_words(letters[pair.first], letters[pair.second]) if square is not None else "",
        "shown": "" if pair.shown is None else words.amount(pair.shown, comparison.measure),
        "points": points,
        "needed": _seeds_needed(pair.difference, points, comparison.measure),
        "number": number,
        "letters": (letters[pair.first], letters[pair.second]),
        "pairs": pairs,
        "pairs_scale": shown.scale(pairs),
        "environments": environments,
        "environments_scale": shown.scale(environments),
        **_seeds(request, reading, number),
    }


def _seeds(request: HttpRequest, reading: Reading, number: int) -> dict[str, Any]:
    """The seeds of a pair that were asked for, by outcome and environment."""
    computed = reading.computed
    pair = computed.comparison.pairs[number]
    outcome, env_id = request.GET.get("outcome", ""), request.GET.get("in", "")
    outcome = outcome if outcome in OUTCOMES else ""
    env_id = env_id if any(env_id == one.env_id for one in pair.environments) else ""
    found = shown.listed(reading.seeds(number), outcome, env_id)
    page = Paginator(found, SEEDS_ON_A_PAGE).get_page(request.GET.get("page"))
    alike = _alike(computed.environments[pair.first], computed.environments[pair.second])
    chosen = {"pair": number, **({"in": env_id} if env_id else {})}
    return {
        "outcome": outcome,
        "outcomes": [("", "All"), *zip(OUTCOMES, _outcomes_in_words(reading, number), strict=True)],
        "in_env": env_id,
        "page": page,
        "seeds": shown.seeds(list(page), alike),
        "seeds_query": urlencode(chosen),
    }


def _outcomes_in_words(reading: Reading, number: int) -> list[str]:
    pair = reading.computed.comparison.pairs[number]
    first, second = reading.sides[pair.first].letter, reading.sides[pair.second].letter
    return [f"{first} won", "Tie", f"{second} won"]


def _seeds_needed(difference: Difference | None, points: str, measure: Measure) -> str:
    """How many seeds show the difference that somebody typed, in words; empty if nobody did."""
    if not points or difference is None:
        return ""
    wanted = estimates.wanted_points(points) if measure == "success" else _return(points)
    if not wanted:
        return "Enter a difference above 0, for example 3."
    if not difference.deviation:
        return "All differences are equal, so the seeds for a smaller one cannot be estimated."
    needed = power.seeds_needed(wanted, difference.deviation)
    return f"A difference of {words.amount(wanted, measure)} takes {needed:,} seeds like these, at 80 % power."


def _return(text: str) -> float | None:
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if 1e-6 <= value <= 1e9 else None


def _alike(first: Mapping[str, Any], second: Mapping[str, Any]) -> set[str]:
    """The environments with one seat that begin alike in both runs, so that episodes can be replayed side by side."""
    return {
        env_id
        for env_id, settings in first.items()
        if (known := registry.ENV_REGISTRY.get(env_id)) is not None
        and known.seats == 1
        and all(settings[name] == second.get(env_id, {}).get(name) for name in IDENTITY)
    }


def _number(text: str, end: int) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 3 and int(text) < end else 0
