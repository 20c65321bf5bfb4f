"""The permalink of an episode, live while it runs and a replay afterwards, and the check of a replay."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.accounts import visitors
from apps.episodes import operations
from apps.episodes.errors import Sealed
from apps.episodes.models import Episode
from apps.episodes.replays.replay_frames import replay_frames
from apps.episodes.snapshot import public_snapshot, snapshot
from apps.episodes.views import find, play_page, seen_from
from apps.episodes.visibility import own_seat, viewpoints
from apps.htmx import wants_part
from gem.errors import GemError
from gem.seats import rewards

CHUNK = 50
"""Turns in one piece of a replay."""
TOO_SLOW = (
    "Replaying this environment takes too long for a web page. Download the JSONL file of this episode and run "
    "`gemweb replay FILE`."
)
STRIP = 400
"""Turns that a reward strip can show apart."""


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


@never_cache
@require_safe
def turn(request: HttpRequest, episode_id: str, number: int) -> HttpResponse:
    """The permalink of one turn: the replay, opened there."""
    found = find(episode_id)
    if number > found.turn_count:
        raise Http404(f"Episode {found.label} has turns 0 to {found.turn_count}; there is no turn {number}.")
    return _replay(request, found, number)


def _replay(request: HttpRequest, found: Episode, number: int, **more: Any) -> HttpResponse:
    seat = seen_from(request, found)
    shot = snapshot(found, seat)
    chunks = found.turn_count // CHUNK + 1
    context = {
        "shot": shot,
        "episode": found,
        "moment": replay_frames(found, number, number, seat)[0],
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
        raise Http404(f"Episode {found.label} has {found.turn_count} turns; there is no chunk {chunk}.")
    last = min(first + CHUNK - 1, found.turn_count)
    context = {"moments": replay_frames(found, first, last, seen_from(request, found)), "episode": found}
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
            raise Sealed("An episode can be verified only after it ends.")
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
