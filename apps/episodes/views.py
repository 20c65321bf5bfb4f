"""The list of episodes, and helpers for the pages of one episode. Its permalink is in `replays`."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.accounts import visitors
from apps.episodes.forms import FilterForm
from apps.episodes.models import Episode
from apps.episodes.paging import page_of
from apps.episodes.snapshot import Snapshot
from apps.episodes.visibility import viewpoint
from apps.htmx import wants_part


def seen_from(request: HttpRequest, episode: Episode) -> int:
    """The viewpoint from which the requesting person sees the episode."""
    return viewpoint(episode, request.user, visitors.known(request), request.GET.get("seat", ""))


def find(episode_id: str) -> Episode:
    """The episode with this id. Raises Http404 if there is none."""
    episode = Episode.objects.filter(pk=episode_id).select_related("parent", "batch").first()
    if episode is None:
        raise Http404(f"There is no episode {episode_id}. The address may be mistyped, or the episode was deleted.")
    return episode


def play_page(request: HttpRequest, shot: Snapshot, *, status: int = 200, **more: Any) -> HttpResponse:
    """The page of the person who plays. `more` may hold `notice`, `typed` and the expert's `decision`."""
    context = {"shot": shot, "episode": shot.episode, "own": True, "acting": not shot.episode.over}
    return render(request, "play/play.html", {**context, "section": "play", **more}, status=status)


@never_cache
@require_safe
def list_episodes(request: HttpRequest) -> HttpResponse:
    """Episodes, newest first, filtered by environment, agent, outcome, seed, source and owner."""
    form = FilterForm(request.user, request.GET)
    matches = form.episodes(request.user, visitors.known(request))
    query = request.GET.copy()
    for name in ("page", "before", "after"):
        query.pop(name, None)
    context = {
        "form": form,
        "page": page_of(matches, request.GET),
        "query": query.urlencode(),
        "filtered": any(query.values()),
    }
    return render(request, "episodes/list.html#results" if wants_part(request) else "episodes/list.html", context)
