"""The list of episodes, and helpers for the pages of one episode. Its permalink is in `replays`."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.accounts import visitors
from apps.episodes import operations
from apps.episodes.errors import TurnTaken
from apps.episodes.lists.forms import FilterForm
from apps.episodes.lists.paging import page_of
from apps.episodes.models import Episode, EpisodeQuerySet
from apps.episodes.snapshot import Snapshot
from apps.episodes.visibility import choices_of, viewpoint
from apps.htmx import wants_part
from apps.visibility import save_choice

PAGE_SIZE = 50
"""Episodes on a page of the list."""

NOT_THEIRS = (
    "Only the person who played or started this episode can change who may see it. Episodes of jobs and duels follow "
    "their job or duel."
)


def seen_from(request: HttpRequest, episode: Episode) -> int:
    """The viewpoint from which the requesting person sees the episode."""
    return viewpoint(episode, request.user, visitors.known(request), request.GET.get("seat", ""))


def find(request: HttpRequest, episode_id: str) -> Episode:
    """The episode with this id. Raises Http404 if there is none that the requesting person may see."""
    episodes = Episode.objects.visible_to(request.user, visitors.known(request))
    episode = episodes.filter(pk=episode_id).select_related("batch").first()
    if episode is None:
        raise Http404(f"There is no episode {episode_id}. The address may be mistyped, or the episode was deleted.")
    return episode


def invited_to(episode_id: str) -> Episode:
    """The episode with this id for somebody with a link to one of its seats, which opens a private one too."""
    episode = Episode.objects.filter(pk=episode_id).select_related("batch").first()
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
        "page": page_of(matches, request.GET, EpisodeQuerySet.with_seats, PAGE_SIZE, at_once=True),
        "query": query.urlencode(),
        "filtered": any(query.values()),
    }
    return render(request, "episodes/list.html#results" if wants_part(request) else "episodes/list.html", context)


@require_POST
def visibility(request: HttpRequest, episode_id: str) -> HttpResponse:
    """Change who may see an episode. Only the people who play it, or started it, can."""
    episode = find(request, episode_id)
    visitor = visitors.known(request)
    choices = choices_of(episode, request.user, visitor)
    if not choices:
        raise PermissionDenied(NOT_THEIRS)
    try:
        save = partial(operations.choose_visibility, episode, user=request.user, visitor=visitor)
        save_choice(request, save, choices)
    except TurnTaken as refusal:
        messages.error(request, str(refusal))
    return redirect(episode)
