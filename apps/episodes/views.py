"""Pages of episodes: live while one runs, a replay afterwards, the list, and the data behind them."""

from __future__ import annotations

import json
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.accounts import visitors
from apps.episodes import operations
from apps.episodes.errors import Sealed
from apps.episodes.forms import FilterForm
from apps.episodes.models import Episode, Turn
from apps.episodes.moments import moments
from apps.episodes.seen import conceal, open_info, own_seat, viewpoint, viewpoints
from apps.episodes.snapshot import Snapshot, public_snapshot, snapshot
from apps.htmx import wants_part
from gem.errors import GemError
from gem.seats import rewards

CHUNK = 50
"""Turns in one piece of a replay."""
TOO_SLOW = (
    "Playing this environment again takes long, so a page does not do it. `gemweb replay FILE` does, with the JSONL "
    "that this page offers."
)
STRIP = 400
"""Turns that a reward strip can show apart."""
PAGE = 50
"""Episodes in one page of the list."""


def seen_from(request: HttpRequest, found: Episode) -> int:
    """From where whoever asks sees the episode."""
    return viewpoint(found, request.user, visitors.known(request), request.GET.get("seat", ""))


def find(episode_id: str) -> Episode:
    """The episode, or a page that says there is none."""
    found = Episode.objects.filter(pk=episode_id).select_related("parent", "batch").first()
    if found is None:
        raise Http404(f"There is no episode {episode_id}. The address may have a slip in it, or it was deleted.")
    return found


@never_cache
@require_safe
def episode(request: HttpRequest, episode_id: str) -> HttpResponse:
    """The permalink: the board to play or watch while the episode runs, its replay afterwards."""
    found = find(episode_id)
    if found.over:
        return _replay(request, found, found.turn_count)
    seat = own_seat(found, request.user, visitors.known(request))
    if seat is not None:
        return play_page(request, snapshot(found, seat))
    return render(request, "play/watch.html", {"shot": public_snapshot(found), "episode": found})


def play_page(request: HttpRequest, shot: Snapshot, *, status: int = 200, **more: Any) -> HttpResponse:
    """The page of the person who plays; `more` may hold `notice`, `typed` and `decision` (the expert's)."""
    context = {"shot": shot, "episode": shot.episode, "own": True, "acting": not shot.episode.over}
    return render(request, "play/play.html", {**context, "section": "play", **more}, status=status)


@never_cache
@require_safe
def turn(request: HttpRequest, episode_id: str, number: int) -> HttpResponse:
    """The permalink of one turn: the replay, opened there."""
    found = find(episode_id)
    if number > found.turn_count:
        raise Http404(f"Episode {found.label} has the turns 0 to {found.turn_count}; there is no turn {number}.")
    return _replay(request, found, number)


def _replay(request: HttpRequest, found: Episode, number: int, **more: Any) -> HttpResponse:
    seat = seen_from(request, found)
    shot = snapshot(found, seat)
    chunks = found.turn_count // CHUNK + 1
    context = {
        "shot": shot,
        "episode": found,
        "moment": moments(found, number, number, seat)[0],
        "viewpoints": {} if shot.sealed else viewpoints(found),
        "chunk_size": CHUNK,
        "chunks": range(chunks),
        "strip": [] if shot.sealed else _strip(found, max(seat, 0)),
        "others": [] if shot.sealed else _others(found),
        "replay": True,
        **more,
    }
    return render(request, "episodes/episode.html", context)


@require_safe
def frames(request: HttpRequest, episode_id: str, chunk: int) -> HttpResponse:
    """The turns of one chunk as HTML, for the player; it never changes once the episode has ended."""
    found = find(episode_id)
    first = chunk * CHUNK
    if first > found.turn_count:
        raise Http404(f"Episode {found.label} has {found.turn_count} turns; there is no piece {chunk}.")
    last = min(first + CHUNK - 1, found.turn_count)
    context = {"moments": moments(found, first, last, seen_from(request, found)), "episode": found}
    context["several"] = found.seat_count > 1
    response = render(request, "episodes/frames.html", context)
    lasts = found.over and not found.sealed
    response["Cache-Control"] = f"{_cache_scope(request, found)}, max-age=31536000, immutable" if lasts else "no-store"
    return response


def _cache_scope(request: HttpRequest, found: Episode) -> str:
    """Whether everybody gets the same: an address that names no seat shows the reader's own."""
    return "public" if found.seat_count == 1 or request.GET.get("seat", "") in viewpoints(found) else "private"


@require_POST
def verify(request: HttpRequest, episode_id: str) -> HttpResponse:
    """Re-execute the episode and say whether every turn came out as recorded."""
    found = find(episode_id)
    try:
        if found.sealed:
            raise Sealed("Whether every turn comes out as recorded can be checked when the episode is over.")
        if found.slow:
            verdict: dict[str, bool | str | None] = {"holds": None, "sentence": TOO_SLOW}
        else:
            difference = operations.verify(found)
            verdict = {"holds": difference is None, "sentence": difference.sentence if difference else ""}
    except (GemError, Sealed) as error:
        verdict = {"holds": False, "sentence": str(error)}
    if wants_part(request):
        return render(request, "episodes/episode.html#verdict", {"verdict": verdict, "episode": found})
    return _replay(request, found, found.turn_count, verdict=verdict)


@never_cache
@require_safe
def turn_json(request: HttpRequest, episode_id: str, number: int) -> JsonResponse:
    """One turn as data; turn 0 is the reset."""
    found = find(episode_id)
    seat, sealed = seen_from(request, found), found.sealed
    if number == 0:
        info = open_info(found.first_info, seat, sealed=sealed)
        return _json({"turn": 0, "observation": found.first_observation, "info": info})
    one = found.turns.filter(number=number).first()
    if one is None:
        raise Http404(f"Episode {found.label} has the turns 0 to {found.turn_count}; there is no turn {number}.")
    return _json(_turn_data(conceal(one, seat, sealed=sealed)))


@never_cache
@require_safe
def episode_json(request: HttpRequest, episode_id: str) -> HttpResponse:
    """The whole record as one document."""
    found = find(episode_id)
    data, turns = _record(request, found)
    response = _json({**data, "turns": turns})
    response["Content-Disposition"] = f'attachment; filename="episode-{found.id}.json"'
    return response


@never_cache
@require_safe
def episode_jsonl(request: HttpRequest, episode_id: str) -> HttpResponse:
    """The record line by line: the episode first, then every turn."""
    found = find(episode_id)
    data, turns = _record(request, found)
    lines = [data, *turns]
    text = "".join(json.dumps(line, cls=DjangoJSONEncoder, ensure_ascii=False) + "\n" for line in lines)
    response = HttpResponse(text, content_type="application/jsonl; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="episode-{found.id}.jsonl"'
    return response


@never_cache
@require_safe
def list_episodes(request: HttpRequest) -> HttpResponse:
    """Episodes, newest first, filtered by environment, agent, outcome, seed and whose they are."""
    form = FilterForm(request.user, request.GET)
    shown = form.episodes(request.user, visitors.known(request))
    page = form.page
    rows = list(shown.with_seats().order_by("-created", "id")[(page - 1) * PAGE : page * PAGE + 1])
    query = request.GET.copy()
    query.pop("page", None)
    context = {
        "form": form,
        "episodes": rows[:PAGE],
        "page": page,
        "older": page + 1 if len(rows) > PAGE else None,
        "newer": page - 1 if page > 1 else None,
        "query": query.urlencode(),
        "filtered": any(query.values()),
    }
    return render(request, "episodes/list.html#results" if wants_part(request) else "episodes/list.html", context)


# ---------------------------------------------------------------- what they show


def _strip(found: Episode, seat: int) -> list[dict[str, Any]]:
    """What each turn earned `seat`, as a bar: x and width in percent, y and height in a box of 24."""
    if not 0 < found.turn_count <= STRIP:
        return []
    turns = found.turns.order_by("number").only("number", "reward", "info")
    earned = [(turn.number, rewards(turn.reward, turn.info)[seat]) for turn in turns]
    top = max((abs(reward) for _, reward in earned), default=0.0) or 1.0
    width = min(100 / len(earned), 4)
    bars = []
    for number, reward in earned:
        height = max(1.5, 18 * abs(reward) / top)
        bars.append({
            "number": number,
            "reward": reward,
            "x": f"{(number - 1) * width:.3f}",
            "width": f"{width:.3f}",
            "inner_x": f"{(number - 1 + 0.12) * width:.3f}",
            "inner_width": f"{width * 0.76:.3f}",
            "y": f"{20 - height:.2f}",
            "height": f"{height:.2f}",
        })  # fmt: skip
    return bars


def _others(found: Episode) -> list[Episode]:
    """What else was played from the same start, the newest first."""
    same = Episode.objects.filter(env_id=found.env_id, seed=found.seed, env_version=found.env_version, listed=True)
    same = same.filter(env_kwargs=found.env_kwargs, wrappers=found.wrappers, status=Episode.Status.ENDED)
    return list(same.exclude(pk=found.pk).with_seats().order_by("-created")[:6])


def _record(request: HttpRequest, found: Episode) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The episode and its turns as data, as far as whoever asks may know them."""
    seat, sealed = seen_from(request, found), found.sealed
    turns = [_turn_data(conceal(one, seat, sealed=sealed)) for one in found.turns.order_by("number")]
    return _episode_data(found, seat, sealed=sealed), turns


def _episode_data(found: Episode, seat: int, *, sealed: bool) -> dict[str, Any]:
    return {
        "id": found.id,
        **found.identity(),
        "seed": None if sealed else found.seed,
        "sealed": sealed,
        "engine_version": found.engine_version,
        "python_version": found.python_version,
        "seats": [
            {
                "number": one.number,
                "agent": one.agent.slug,
                "total_reward": None if sealed and one.number != seat else one.total_reward,
                "success": None if sealed else one.success,
            }
            for one in found.seats.select_related("agent").order_by("number")
        ],
        "outcome": found.outcome,
        "terminated": found.terminated,
        "truncated": found.truncated,
        "success": found.success,
        "failure": found.failure,
        "failed_by": found.failed_by,
        "turn_count": found.turn_count,
        "max_turns": found.max_turns,
        "first_observation": found.first_observation,
        "first_info": open_info(found.first_info, seat, sealed=sealed),
        "parent": found.parent_id,
        "parent_turn": found.parent_turn,
        "created": found.created,
        "ended": found.ended,
    }


def _turn_data(one: Turn) -> dict[str, Any]:
    return {
        "turn": one.number,
        "seat": one.seat,
        "action": None if one.concealed else one.action,
        "observation": one.observation,
        "reward": None if one.concealed else one.reward,
        "info": one.info,
        "extra": one.extra,
        "created": one.created,
    }


def _json(data: dict[str, Any]) -> JsonResponse:
    return JsonResponse(data, json_dumps_params={"indent": 2, "ensure_ascii": False})
