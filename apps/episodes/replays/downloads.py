"""The record of an episode as data: a turn of it, or all of it as one document or line by line."""

from __future__ import annotations

import json
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.episodes.models import Episode, Turn
from apps.episodes.views import find, seen_from
from apps.episodes.visibility import conceal, open_info


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
        raise Http404(f"Episode {found.label} has turns 0 to {found.turn_count}; there is no turn {number}.")
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
