"""Views for starting episodes, taking turns, getting hints and forking."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts import visitors
from apps.accounts.models import account_of
from apps.agents.models import Agent
from apps.episodes.errors import ActionTooLong, NotFound, Refusal
from apps.episodes.models import Episode
from apps.episodes.snapshot import public_snapshot
from apps.episodes.text import MAX_ACTION_BYTES
from apps.episodes.tools import choice as tool_choice
from apps.episodes.views import find, invited_to, play_page
from apps.episodes.visibility import own_seat
from apps.htmx import wants_part
from apps.play import hints, operations, pending
from apps.play.people import invitations
from apps.play.responses import form_again, fragments, go_to, refused
from apps.play.shows import continuing, show_leases
from apps.play.shows import operations as shows
from apps.play.starting import from_forms, limits, once
from apps.play.starting.forms import NewForm, prefilled, withheld

View = Callable[..., HttpResponse]

MAX_BODY_BYTES = 3 * MAX_ACTION_BYTES + 4096
"""The size of a form with the longest action. URL encoding may triple each byte."""


# ---------------------------------------------------------------- starting


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Redirect to the catalog."""
    return redirect("catalog:list")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form: choose an environment and a seed, and begin."""
    if request.method != "POST":
        initial = prefilled(request.GET, PREFILLED_FIELDS, is_part=wants_part(request))
        context = {
            "form": NewForm(request.user, initial=initial),
            "withheld": withheld(request.user, initial, "opponent"),
        }
        return render(request, "play/new.html", context)
    form = NewForm(request.user, request.POST)
    if not form.is_valid():
        return form_again(request, "play/new.html", form)
    try:
        visitor, digest = once.visitor_of(request), once.digest_of(request)
        if begun := once.begun(digest):
            return go_to(request, begun[0])
        limits.check_start(request)
        episode = from_forms.begin(form, request.user, visitor, visitors.address(request), digest)
    except Refusal as refusal:
        return form_again(request, "play/new.html", form, refusal)
    return go_to(request, episode)


PREFILLED_FIELDS = ("env_id", "opponent", "seat", "seed", "visibility", *tool_choice.FIELDS)


# ---------------------------------------------------------------- playing


def bounded(view: View) -> View:
    """Refuse a request body that is too large before it is read. The CSRF check, which reads it, comes after."""
    checked = csrf_protect(view)

    @csrf_exempt
    @functools.wraps(view)
    def wrapped(request: HttpRequest, episode_id: str, **kwargs: Any) -> HttpResponse:
        size = int(request.META.get("CONTENT_LENGTH") or 0)
        if size <= MAX_BODY_BYTES:
            return checked(request, episode_id, **kwargs)
        refusal = ActionTooLong(
            f"An action can have at most {MAX_ACTION_BYTES // 1024} KiB; this one has about {math.ceil(size / 1024):,} "
            "KiB. The turn was not played. Shorten the text and send it again."
        )
        return refused(request, find(request, episode_id), refusal, after=None)

    return wrapped


@bounded
@require_POST
def take_turn(request: HttpRequest, episode_id: str) -> HttpResponse:
    """Play the text of the field, or the action of the pressed cell."""
    action = request.POST.get("act") or request.POST.get("action", "")
    expected_seq = _number(request, "expected_seq")
    try:
        episode = operations.take_turn(
            episode_id,
            action,
            expected_seq=expected_seq,
            user=request.user,
            visitor=visitors.known(request),
            address=visitors.address(request),
            as_written="as_written" in request.POST,
        )
    except NotFound as refusal:
        raise Http404(f"There is no episode {episode_id}. {refusal}") from refusal
    except Refusal as refusal:
        return refused(request, find(request, episode_id), refusal, after=expected_seq, typed=action)
    if not wants_part(request):
        return redirect(episode)
    # A page with an open socket gets the turn as an event. Rendering it here as well would delay everybody.
    drawn_by_socket = "Live-Page" in request.headers
    response = HttpResponse(status=204) if drawn_by_socket else fragments(request, episode, expected_seq or 0)
    if episode.slow and not episode.over:
        response.status_code = 202  # a worker plays it, and the socket brings the result
    response["Episode-Seq"] = str(episode.seq)
    return response


@never_cache
@require_safe
def place(request: HttpRequest, episode_id: str) -> HttpResponse:
    """The place in the queue of an episode whose next turn waits for a worker; otherwise without text."""
    episode = find(request, episode_id)
    number = pending.place(episode.pk) or show_leases.place(episode.pk)
    return render(request, "play/place.html", {"episode": episode, "place": number})


@never_cache
@require_safe
def hint(request: HttpRequest, episode_id: str) -> HttpResponse:
    """The hint: what the expert would do now, and why; without an expert, the next step of a reference."""
    episode = find(request, episode_id)
    shot = hints.seen_by(episode, request.user, visitors.known(request))
    if episode.over or not shot.helps:
        return redirect(episode)
    try:
        limits.check_hint(request)
        typed = request.GET.get("program", "")
        decision = hints.ask(shot, request.user, visitors.known(request), typed)
    except Refusal as refusal:
        return refused(request, episode, refusal, after=None)
    if not wants_part(request):
        return play_page(request, shot, decision=decision, typed=decision.action)
    context = {"shot": shot, "episode": episode, "own": True, "acting": True, "decision": decision}
    return render(request, "play/acting.html#hint", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, episode_id: str, number: int, signature: str) -> HttpResponse:
    """The link to a free seat. Whoever opens it can take the seat with a button."""
    if not invitations.holds(episode_id, number, signature):
        raise Http404(invitations.NO_LINK)
    episode = invited_to(episode_id)
    user, visitor = request.user, visitors.known(request)
    own, refusal = own_seat(episode, user, visitor), None
    if own == number:
        return redirect(episode)
    is_seen = Episode.objects.visible_to(user, visitor).filter(pk=episode_id).exists()
    try:
        if request.method == "POST":
            operations.join(episode_id, number, user=user, visitor=visitors.key(request))
            return redirect(episode)
        seats = list(episode.seats.select_related("agent").order_by("number"))
        operations.check_seat(episode, number, seats, user=user, visitor=visitor)
    except Refusal as error:
        if own is not None:
            messages.info(request, error.sentence)
            return redirect(episode)
        if not is_seen:
            raise Http404(f"{error.sentence} Only the people who play can see the episode.") from error
        refusal = error
    context = {"episode": episode, "shot": public_snapshot(episode), "is_seen": is_seen, "notice": refusal}
    return render(request, "play/join.html", context, status=refusal.status if refusal else 200)


@require_POST
def undo(request: HttpRequest, episode_id: str) -> HttpResponse:
    """Undo the last turn by continuing in a branch without it."""
    try:
        limits.check_undo(request)
        visitor, address = visitors.known(request), visitors.address(request)
        branch = operations.undo(episode_id, user=request.user, visitor=visitor, address=address)
    except Refusal as refusal:
        return refused(request, find(request, episode_id), refusal, after=None)
    return go_to(request, branch)


@require_POST
def abandon(request: HttpRequest, episode_id: str) -> HttpResponse:
    """End the episode without a result."""
    try:
        episode = operations.abandon(episode_id, user=request.user, visitor=visitors.known(request))
    except Refusal as refusal:
        return refused(request, find(request, episode_id), refusal, after=None)
    return go_to(request, episode)


@require_POST
def fork(request: HttpRequest, episode_id: str) -> HttpResponse:
    """Continue from a turn of any episode in a branch of one's own."""
    episode = find(request, episode_id)
    turn = _number(request, "turn")
    try:
        if turn is None:
            raise NotFound(f"A turn is a whole number from 0 to {episode.turn_count}.")
        limits.check_start(request)
        visitor, address = visitors.key(request), visitors.address(request)
        branch = operations.fork(episode, turn, user=request.user, visitor=visitor, address=address, once=True)
    except Refusal as refusal:
        return refused(request, episode, refusal, after=None)
    _name_stand_ins(request, episode, branch)
    return go_to(request, branch)


@require_POST
def finish(request: HttpRequest, episode_id: str) -> HttpResponse:
    """Let `agent` (by default the expert) continue from `turn` (by default the last one)."""
    episode = find(request, episode_id)
    slug = request.POST.get("agent", "expert")
    turn = _number(request, "turn") if "turn" in request.POST else episode.turn_count
    try:
        if turn is None:
            raise NotFound(f"A turn is a whole number from 0 to {episode.turn_count}.")
        agent = from_forms.agent_to_finish(request.user, slug)
        visitor = "" if request.user.is_authenticated else visitors.key(request)
        digest = once.digest_of(request)
        if begun := once.begun(digest):
            return go_to(request, begun[0])
        limits.check_start(request)
        user, address = account_of(request.user), visitors.address(request)
        branch = continuing.go_on(episode, turn, agent, user=user, visitor=visitor, address=address, form=digest)
    except Refusal as refusal:
        return refused(request, episode, refusal, after=None)
    _name_stand_ins(request, episode, branch)
    return go_to(request, branch)


# ---------------------------------------------------------------- helpers


def _name_stand_ins(request: HttpRequest, episode: Episode, branch: Episode) -> None:
    """Tell the person which agents of the episode do not play for them, and who plays in the branch instead."""
    unavailable = shows.unavailable(episode, request.user) if episode.seat_count > 1 else {}
    for seat in branch.seats.select_related("agent").order_by("number"):
        if seat.number in unavailable and seat.agent.kind != Agent.Kind.HUMAN:
            name = unavailable[seat.number].name
            messages.info(request, f"{name} is not available to you, so {seat.agent.name} plays in its seat here.")


def _number(request: HttpRequest, name: str) -> int | None:
    """The small non-negative integer in a form field; None if there is none."""
    text = request.POST.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
