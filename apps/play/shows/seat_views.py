"""Views for taking the seat of an agent that plays live, leaving it a note, and handing back."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from apps.accounts import visitors
from apps.episodes.errors import Refusal
from apps.episodes.views import find
from apps.play.responses import go_to, refused
from apps.play.shows import operations as shows
from apps.play.shows import seats


@require_POST
def take_seat(request: HttpRequest, episode_id: str) -> HttpResponse:
    """Take the seat of an agent in an episode that one may control."""
    episode = find(request, episode_id)
    visitor, text = visitors.known(request), request.POST.get("seat", "")
    if not shows.may_control(episode, request.user, visitor):
        return HttpResponse(shows.NOT_THE_STARTER, status=403)
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 3 else None
    try:
        return go_to(request, seats.take(episode_id, number, user=request.user, visitor=visitor))
    except Refusal as refusal:
        return refused(request, episode, refusal, after=None)


@require_POST
def leave_note(request: HttpRequest, episode_id: str) -> HttpResponse:
    """Leave a note for the agent whose seat one has and, if that is ticked, hand back with it."""
    episode = find(request, episode_id)
    act = seats.hand_back if request.POST.get("then") == "back" else seats.leave_note
    text, visitor = request.POST.get("text", ""), visitors.known(request)
    try:
        return go_to(request, act(episode_id, text, user=request.user, visitor=visitor))
    except Refusal as refusal:
        return refused(request, episode, refusal, after=None)


@require_POST
def hand_back(request: HttpRequest, episode_id: str) -> HttpResponse:
    """Give the seat back to its agent."""
    episode = find(request, episode_id)
    try:
        return go_to(request, seats.hand_back(episode_id, user=request.user, visitor=visitors.known(request)))
    except Refusal as refusal:
        return refused(request, episode, refusal, after=None)
