"""The permalink of an episode (live while it runs, a replay afterwards) and the verification of a replay."""

from __future__ import annotations

import math
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.cache import get_conditional_response, set_response_etag
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.accounts import visitors
from apps.accounts.rate_limit import take
from apps.admission.models import name_of
from apps.episodes.errors import Refusal, Sealed, TooFast
from apps.episodes.models import Episode
from apps.episodes.questions import mistakes, verification
from apps.episodes.questions.verification import Verdict
from apps.episodes.replays.marks import marks
from apps.episodes.replays.replay_frames import replay_frames
from apps.episodes.snapshot import public_snapshot, snapshot
from apps.episodes.steering import controls_of
from apps.episodes.views import find, play_page, seen_from
from apps.episodes.visibility import branches_of, own_seat, viewpoints
from apps.htmx import wants_part

CHUNK = 50
"""Turns per chunk of a replay."""
VERIFICATIONS_PER_MINUTE = 10
"""Slow episodes that one person, or all visitors at one IP address, may have verified in a minute."""
FAST_VERIFICATIONS_PER_MINUTE = 60
"""Fast ones. The web process itself replays them."""


@never_cache
@require_safe
def episode(request: HttpRequest, episode_id: str) -> HttpResponse:
    """The permalink: the board to play on or watch while the episode runs, the replay afterwards."""
    record = find(request, episode_id)
    if record.over:
        return _replay(request, record, record.turn_count)
    seat = own_seat(record, request.user, visitors.known(request))
    if seat is not None:
        return play_page(request, snapshot(record, seat))
    context = {"shot": public_snapshot(record), "episode": record, **controls_of(request, record)}
    return render(request, "play/watch.html", context)


@never_cache
@require_safe
def turn(request: HttpRequest, episode_id: str, number: int) -> HttpResponse:
    """The permalink of one turn: the replay, opened at that turn."""
    episode = find(request, episode_id)
    if number > episode.turn_count:
        raise Http404(f"Episode {episode.label} has turns 0 to {episode.turn_count}; there is no turn {number}.")
    return _replay(request, episode, number)


def _replay(request: HttpRequest, episode: Episode, number: int, **more: Any) -> HttpResponse:
    seat = seen_from(request, episode)
    shot = snapshot(episode, seat)
    chunks = episode.turn_count // CHUNK + 1
    context = {
        "shot": shot,
        "episode": episode,
        "moment": replay_frames(episode, number, number, seat)[0],
        "viewpoints": {} if shot.sealed else viewpoints(episode),
        "chunk_size": CHUNK,
        "chunks": range(chunks),
        **marks(episode, max(seat, 0), sealed=shot.sealed),
        "others": [] if shot.sealed else _others(request, episode),
        "branches": [] if shot.sealed else _branches(request, episode),
        "replay": True,
        **more,
    }
    return render(request, "episodes/episode.html", context)


@require_safe
def frames(request: HttpRequest, episode_id: str, chunk: int) -> HttpResponseBase:
    """The turns of one chunk as HTML for the player.

    A browser keeps those of an ended episode, which do not change any more, and asks each time whether it may still
    show them, because the episode may have become private or hidden since.
    """
    episode = find(request, episode_id)
    first = chunk * CHUNK
    if first > episode.turn_count:
        raise Http404(f"Episode {episode.label} has {episode.turn_count} turns; there is no chunk {chunk}.")
    last = min(first + CHUNK - 1, episode.turn_count)
    context = {"moments": replay_frames(episode, first, last, seen_from(request, episode)), "episode": episode}
    context["several"] = episode.seat_count > 1
    response = render(request, "episodes/frames.html", context)
    if not episode.over or episode.sealed:
        response["Cache-Control"] = "no-store"
        return response
    response["Cache-Control"] = "private, no-cache"
    set_response_etag(response)
    return get_conditional_response(request, etag=response["ETag"], response=response) or response


@require_POST
def verify(request: HttpRequest, episode_id: str) -> HttpResponse:
    """Replay the episode and report whether every turn is as recorded; a worker replays a slow one."""
    episode = find(request, episode_id)
    wait = 0.0
    try:
        verdict = ask_verification(request, episode)
    except Refusal as refusal:
        verdict = Verdict(None, str(refusal))
        wait = refusal.wait if isinstance(refusal, TooFast) else 0.0
    if wants_part(request):
        response = render(request, "episodes/episode.html#verdict", {"verdict": verdict, "episode": episode})
    else:
        response = _replay(request, episode, episode.turn_count, verdict=verdict)
    if wait > 0:
        response.status_code = TooFast.status
        response["Retry-After"] = str(math.ceil(wait))
    return response


@never_cache
@require_safe
def verdict(request: HttpRequest, episode_id: str) -> HttpResponse:
    """What a worker that was asked to verify the episode has found."""
    episode = find(request, episode_id)
    context = {"verdict": verification.latest(episode), "episode": episode}
    return render(request, "episodes/episode.html#verdict", context)


@require_POST
def ask_expert(request: HttpRequest, episode_id: str) -> HttpResponse:
    """Have a worker ask the expert where the episode went wrong."""
    episode = find(request, episode_id)
    refusal = None
    try:
        explanation = _ask_expert(request, episode)
    except Refusal as error:
        refusal, explanation = error, mistakes.Explanation(problem=str(error))
    if wants_part(request):
        context = {"episode": episode, **marks(episode, 0, sealed=episode.sealed), "explanation": explanation}
        response = render(request, "episodes/why.html", context)
    else:
        response = _replay(request, episode, episode.turn_count, explanation=explanation)
    if refusal is not None:
        response.status_code = refusal.status
        if isinstance(refusal, TooFast):
            response["Retry-After"] = str(math.ceil(refusal.wait))
    return response


@never_cache
@require_safe
def why(request: HttpRequest, episode_id: str) -> HttpResponse:
    """Where the episode went wrong, as far as it is known."""
    episode = find(request, episode_id)
    context = {"episode": episode, **marks(episode, 0, sealed=episode.sealed)}
    return render(request, "episodes/why.html", context)


def _ask_expert(request: HttpRequest, episode: Episode) -> mistakes.Explanation:
    if not mistakes.can_be_asked(episode):
        raise Sealed("The expert can be asked about episodes with one seat that are over and not ranked at present.")
    if wait := _wait_for_replay(request, slow=True):
        raise TooFast(f"You have asked about many episodes. Try again in {max(1, round(wait))} s.", wait)
    person = name_of(request.user.pk, "" if request.user.is_authenticated else visitors.key(request))
    return mistakes.ask(episode, person, visitors.address(request))


def ask_verification(request: HttpRequest, episode: Episode) -> Verdict:
    """Have an episode verified, and count it for the person or, without an account, for their address.

    Raises:
        Sealed: if it has not ended.
        TooFast: above `VERIFICATIONS_PER_MINUTE` or, for fast episodes, `FAST_VERIFICATIONS_PER_MINUTE`.
    """
    if episode.sealed:
        raise Sealed("An episode can be verified only after it ends.")
    if wait := _wait_for_replay(request, slow=episode.slow):
        raise TooFast(f"You have had many episodes verified. Try again in {max(1, round(wait))} s.", wait)
    person = name_of(request.user.pk, "" if request.user.is_authenticated else visitors.key(request))
    return verification.verify(episode, person, visitors.address(request))


def _wait_for_replay(request: HttpRequest, *, slow: bool) -> float:
    """Seconds until this person may have another episode of this kind verified; 0 if that is now."""
    kind, size = ("verify", VERIFICATIONS_PER_MINUTE) if slow else ("verify-fast", FAST_VERIFICATIONS_PER_MINUTE)
    return take(f"{kind}:{visitors.share_of(request)}", size, size / 60)


def _others(request: HttpRequest, episode: Episode) -> list[Episode]:
    """Other ended episodes with the same start, newest first."""
    others = Episode.objects.filter(
        env_id=episode.env_id, seed=episode.seed, env_version=episode.env_version
    ).listed_for(request.user, visitors.known(request))
    others = others.filter(env_kwargs=episode.env_kwargs, wrappers=episode.wrappers, status=Episode.Status.ENDED)
    return list(others.exclude(pk=episode.pk).exclude(parent=episode).with_seats().order_by("-created")[:6])


def _branches(request: HttpRequest, episode: Episode) -> list[Episode]:
    """The newest episodes that were forked from this one."""
    branches = branches_of(episode, request.user, visitors.known(request)).select_related("batch", "goes_on_in")
    return list(branches.with_seats().order_by("-created")[:6])
