"""Downloads of an episode's record: one turn, or the whole episode as JSON or JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.accounts import visitors
from apps.accounts.models import Viewer
from apps.episodes.handovers import data_of
from apps.episodes.models import Episode, EpisodeQuerySet, Seat, Turn
from apps.episodes.views import find, seen_from
from apps.episodes.visibility import conceal, open_info, parent_of, public_viewpoint
from apps.one_moment import one_moment

CHUNK = 200
"""Episodes that are read at a time."""
MAX_TURNS = 2_000
"""Turns that are read at a time, unless one episode has more."""


@never_cache
@require_safe
def turn_json(request: HttpRequest, episode_id: str, number: int) -> JsonResponse:
    """One turn as JSON; turn 0 is the reset."""
    episode = find(request, episode_id)
    seat, sealed = seen_from(request, episode), episode.sealed
    if number == 0:
        info = open_info(episode.first_info, seat, sealed=sealed)
        return _json({"turn": 0, "observation": episode.first_observation, "info": info})
    turn = episode.turns.filter(number=number).first()
    if turn is None:
        raise Http404(f"Episode {episode.label} has turns 0 to {episode.turn_count}; there is no turn {number}.")
    return _json(turn_data(conceal(turn, seat, sealed=sealed)))


@never_cache
@require_safe
def episode_json(request: HttpRequest, episode_id: str) -> HttpResponse:
    """The whole record as one JSON document."""
    episode, data, turns = _found(request, episode_id)
    response = _json({**data, "turns": turns})
    response["Content-Disposition"] = f'attachment; filename="episode-{episode.id}.json"'
    return response


@never_cache
@require_safe
def episode_jsonl(request: HttpRequest, episode_id: str) -> HttpResponse:
    """The record as JSON Lines: first the episode, then every turn."""
    episode, data, turns = _found(request, episode_id)
    lines = [data, *turns]
    text = "".join(json.dumps(line, cls=DjangoJSONEncoder, ensure_ascii=False) + "\n" for line in lines)
    response = HttpResponse(text, content_type="application/jsonl; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="episode-{episode.id}.jsonl"'
    return response


@one_moment()
def _found(request: HttpRequest, episode_id: str) -> tuple[Episode, dict[str, Any], list[dict[str, Any]]]:
    """An episode with its record, as the requesting person may see it now."""
    episode = find(request, episode_id)
    return episode, *record_of(episode, seen_from(request, episode), request.user, visitors.known(request))


def record_of(
    episode: Episode, seat: int, user: Viewer, visitor: str = ""
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The episode and its turns as data, without what this viewpoint and this person may not see."""
    sealed = episode.sealed
    turns = [turn_data(conceal(turn, seat, sealed=sealed)) for turn in episode.turns.all()]
    return episode_data(episode, seat, user, visitor), turns


def records_of(
    episodes: EpisodeQuerySet, user: Viewer, visitor: str = ""
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The records of all these episodes, by their keys, as this person may see them. Few are in memory at a time."""
    last = ""
    while keys := _next_keys(episodes, last):
        for episode in Episode.objects.filter(pk__in=keys).with_seats().prefetch_related("turns").order_by("pk"):
            own = next((seat.number for seat in episode.seats.all() if seat.belongs_to(user, visitor)), None)
            yield record_of(episode, public_viewpoint(episode) if own is None else own, user, visitor)
        last = keys[-1]


def _next_keys(episodes: EpisodeQuerySet, last: str) -> list[str]:
    """The keys of the episodes to read next: at most `CHUNK`, and as many as have `MAX_TURNS` turns together."""
    keys: list[str] = []
    turns = 0
    for key, turn_count in episodes.filter(pk__gt=last).order_by("pk").values_list("pk", "turn_count")[:CHUNK]:
        if keys and turns + turn_count > MAX_TURNS:
            break
        keys.append(key)
        turns += turn_count
    return keys


def episode_data(episode: Episode, seat: int, user: Viewer, visitor: str = "") -> dict[str, Any]:
    """The record of an episode without its turns, and without what this viewpoint and this person may not see."""
    sealed = episode.sealed
    parent = parent_of(episode, user, visitor)
    return {
        "id": episode.id,
        **episode.open_identity(),
        "seed": None if sealed else episode.seed,
        "sealed": sealed,
        "engine_version": episode.engine_version,
        "python_version": episode.python_version,
        "seat": episode.scored_seat,
        "seats": [
            {
                "number": row.number,
                "agent": row.agent.slug,
                "total_reward": None if sealed and row.number != seat else row.total_reward,
                "success": None if sealed else row.success,
            }
            for row in _seats(episode)
        ],
        "outcome": episode.outcome,
        "terminated": episode.terminated,
        "truncated": episode.truncated,
        **({"cut": episode.cut} if episode.cut else {}),
        **({"handovers": data_of(episode, seat, sealed=sealed)} if episode.taken_over else {}),
        "success": episode.success,
        "failure": episode.failure,
        "failed_by": episode.failed_by,
        "turn_count": episode.turn_count,
        "max_turns": episode.max_turns,
        "first_observation": episode.first_observation,
        "first_info": open_info(episode.first_info, seat, sealed=sealed),
        "parent": parent.pk if parent else None,
        "parent_turn": episode.parent_turn,
        "created": episode.created,
        "ended": episode.ended,
    }


def turn_data(turn: Turn) -> dict[str, Any]:
    """A turn, of which nothing is hidden but what `conceal` has hidden."""
    return {
        "turn": turn.number,
        "seat": turn.seat,
        "action": None if turn.concealed else turn.action,
        "observation": turn.observation,
        "reward": None if turn.concealed else turn.reward,
        "info": turn.info,
        "extra": turn.extra,
        "created": turn.created,
    }


def _seats(episode: Episode) -> list[Seat]:
    """The seats in their order, with one query if they were not fetched with the episode."""
    fetched = "seats" in getattr(episode, "_prefetched_objects_cache", {})
    seats = episode.seats.all() if fetched else episode.seats.select_related("agent")
    return sorted(seats, key=lambda seat: seat.number)


def _json(data: dict[str, Any]) -> JsonResponse:
    return JsonResponse(data, json_dumps_params={"indent": 2, "ensure_ascii": False})
