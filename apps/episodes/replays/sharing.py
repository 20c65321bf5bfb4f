"""Replays outside the site: within pages of others, and as a file that needs no network."""

from __future__ import annotations

from typing import Any

from csp.decorators import csp_replace
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from apps.accounts import visitors
from apps.accounts.rate_limit import take
from apps.downloads import download
from apps.episodes.errors import Refusal, Sealed, TooFast
from apps.episodes.models import Episode
from apps.episodes.replays import replay_file as files
from apps.episodes.replays.replay_frames import replay_frames
from apps.episodes.snapshot import public_snapshot, snapshot
from apps.episodes.views import find, seen_from
from apps.episodes.visibility import public_viewpoint

CHUNK = 50
"""Turns per chunk of a replay, as on the page of an episode."""
FILES_PER_MINUTE = 10
"""Files that one person, or all visitors at one IP address, may have made in a minute."""


@never_cache
@xframe_options_exempt
@csp_replace({"frame-ancestors": ["*"]})  # type: ignore[arg-type]  # its annotation knows no parts of addresses
@require_safe
def embed(_request: HttpRequest, episode_id: str) -> HttpResponse:
    """A replay for a frame on another site, without a session: it shows what somebody without an account may see."""
    episode = Episode.objects.visible_to(AnonymousUser(), "").filter(pk=episode_id).select_related("batch").first()
    if episode is None or episode.closed:
        raise Http404(f"There is no episode {episode_id}. The address may be mistyped, or the episode was deleted.")
    viewpoint = public_viewpoint(episode)
    shot = public_snapshot(episode, 1)
    context = {
        "episode": episode,
        "shot": shot,
        "seats": shot.seats,
        "seat": shot.seat,
        "standings": shot.standings,
        "moment": replay_frames(episode, episode.turn_count, episode.turn_count, viewpoint)[0],
        "chunk_size": CHUNK,
        "version": settings.VERSION,
        "address": f"{settings.SITE_URL}{episode.get_absolute_url()}",
    }
    return HttpResponse(render_to_string("episodes/embed.html", context))


@never_cache
@require_safe
def replay_file(request: HttpRequest, episode_id: str) -> HttpResponseBase:
    """The replay as one HTML file that needs no network. Ranked episodes leave the site when their season ends."""
    episode = find(request, episode_id)
    try:
        _check_may_leave(request, episode)
    except Refusal as refusal:
        context: dict[str, Any] = {"notice": refusal, "episode": episode}
        response = render(request, "episodes/refused.html", context, status=refusal.status)
        if isinstance(refusal, TooFast):
            response["Retry-After"] = str(max(1, round(refusal.wait)))
        return response
    pieces = files.pieces(snapshot(episode, seen_from(request, episode), 1))
    return download(request, map(str.encode, pieces), f"episode-{episode.id}.html", "text/html; charset=utf-8")


def _check_may_leave(request: HttpRequest, episode: Episode) -> None:
    if episode.closed:
        raise Sealed("This episode is ranked. Its replay can be saved when its season is over.")
    if not episode.over or episode.sealed:
        raise Sealed("A replay can be saved as a file when the episode is over.")
    if episode.turn_count > files.MAX_TURNS:
        raise Refusal(f"A file holds at most {files.MAX_TURNS:,} turns; this episode has {episode.turn_count:,}.")
    if wait := take(f"replay-file:{visitors.share_of(request)}", FILES_PER_MINUTE, FILES_PER_MINUTE / 60):
        raise TooFast(f"You have saved many replays. Try again in {max(1, round(wait))} s.", wait)
