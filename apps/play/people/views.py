"""Views of people who play with people: one's own games, the name of a guest, open seats and rematches."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.accounts import visitors
from apps.episodes.errors import NotYourTurn, Refusal
from apps.episodes.lists.paging import page_of
from apps.episodes.models import EpisodeQuerySet
from apps.episodes.views import find
from apps.htmx import wants_part
from apps.play.people import lobby_seats, names, rematches
from apps.play.people.mine import PAGE_SIZE, MineForm, underway
from apps.play.responses import go_to, refused
from apps.play.starting import limits


@never_cache
@require_safe
def mine(request: HttpRequest) -> HttpResponse:
    """The games of the reader: those that go on, and all others with filters. Guests choose their name here."""
    user, visitor = request.user, visitors.known(request)
    form = MineForm(user, visitor, request.GET)
    query = request.GET.copy()
    for name in ("page", "before", "after"):
        query.pop(name, None)
    context = {
        "form": form,
        "page": page_of(form.episodes(), request.GET, EpisodeQuerySet.with_seats, PAGE_SIZE),
        "query": query.urlencode(),
        "filtered": any(query.values()),
    }
    if wants_part(request):
        return render(request, "play/people/mine.html#results", context)
    context |= {"underway": underway(user, visitor), "guest_name": names.name_of_guest(visitor), "section": "play"}
    return render(request, "play/people/mine.html", context)


@require_POST
def name(request: HttpRequest) -> HttpResponse:
    """Give a guest a name, and go back to where they came from."""
    if request.user.is_authenticated:
        messages.error(request, "You play under your account. Choose on your account page whether its name is shown.")
        return redirect("play:mine")
    try:
        chosen = names.choose(visitors.key(request), request.POST.get("name", ""))
        messages.info(request, f"You play as {chosen} (guest)." if chosen else "You play without a name.")
    except Refusal as refusal:
        messages.error(request, str(refusal))
    back = request.POST.get("next", "")
    is_own = url_has_allowed_host_and_scheme(back, {request.get_host()}, request.is_secure())
    return redirect(back if is_own and back.startswith("/") else "play:mine")


@require_POST
def still_here(request: HttpRequest, episode_id: str) -> HttpResponse:
    """The person who offers a seat in the lobby still waits on the page."""
    episode = find(request, episode_id)
    try:
        lobby_seats.still_here(episode, request.user, visitors.known(request))
    except NotYourTurn as refusal:
        return refused(request, episode, refusal, after=None)
    return HttpResponse(status=204)


@require_POST
def rematch(request: HttpRequest, episode_id: str) -> HttpResponse:
    """Begin the rematch of a game, or go to the one that the other person has begun."""
    episode = find(request, episode_id)
    try:
        limits.check_start(request)
        following = rematches.begin(episode, user=request.user, visitor=visitors.known(request))
    except Refusal as refusal:
        return refused(request, episode, refusal, after=None)
    return go_to(request, following)
