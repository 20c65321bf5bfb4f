"""Views for letting an agent play live, and for controlling it."""

from __future__ import annotations

import functools
from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts import visitors
from apps.episodes.errors import Refusal
from apps.episodes.tools import choice as tool_choice
from apps.episodes.views import find
from apps.htmx import wants_part
from apps.play.responses import form_again, go_to, refused
from apps.play.shows import operations as shows
from apps.play.starting import from_forms, limits, once
from apps.play.starting.forms import WatchForm, prefilled, who_plays, withheld

PREFILLED_FIELDS = ("env_id", "agent", "opponent", "seed", "pace", "visibility", *tool_choice.FIELDS)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def watch_new(request: HttpRequest) -> HttpResponse:
    """The form: choose an environment and an agent that plays it live."""
    if request.method != "POST":
        prefill = prefilled(request.GET, PREFILLED_FIELDS, is_part=wants_part(request))
        initial = {"agent": who_plays(prefill.get("env_id", "")), **prefill}
        form = WatchForm(request.user, initial=initial)
        context = {"form": form, "withheld": withheld(request.user, prefill, "agent", "opponent")}
        return render(request, "play/watch_new.html", context)
    form = WatchForm(request.user, request.POST)
    if not form.is_valid():
        return form_again(request, "play/watch_new.html", form)
    try:
        visitor, digest = once.visitor_of(request), once.digest_of(request)
        if begun := once.begun(digest):
            return go_to(request, begun[0])
        limits.check_start(request)
        pace, address = form.cleaned_data["pace"], visitors.address(request)
        episode = from_forms.start_show(form, pace, request.user, visitor, address, digest)
    except Refusal as refusal:
        return form_again(request, "play/watch_new.html", form, refusal)
    return go_to(request, episode)


# ---------------------------------------------------------------- controlling an agent


@require_POST
def control(request: HttpRequest, episode_id: str, verb: str) -> HttpResponse:
    """Pause, resume, one turn, stop, or change the pace. Every open page gets the change by its socket."""
    if verb not in VERBS:
        raise Http404(f"An episode has no control named {verb}.")
    episode = find(request, episode_id)
    try:
        if not shows.may_do(verb, episode, request.user, visitors.known(request)):
            return HttpResponse(shows.NOT_THE_STARTER, status=403)
        VERBS[verb](request)(episode_id)
    except Refusal as refusal:
        return refused(request, episode, refusal, after=None)
    if wants_part(request):
        return HttpResponse(status=204)
    return redirect(episode)


def pace_of(request: HttpRequest) -> float:
    """The pace in the form data, in seconds per turn.

    Raises:
        Refusal: it is not a number.
    """
    try:
        return float(request.POST.get("pace", ""))
    except ValueError:
        raise Refusal("The pace is a number of seconds per turn, for example 0.5.") from None


VERBS: dict[str, Callable[[HttpRequest], Callable[[str], None]]] = {
    "pause": lambda _: shows.pause,
    "resume": lambda request: functools.partial(shows.resume, user=request.user),
    "one-turn": lambda request: functools.partial(shows.one_turn, user=request.user),
    "stop": lambda _: shows.stop,
    "pace": lambda request: functools.partial(shows.set_pace, seconds=pace_of(request)),
}
"""Verb to a function that reads the request and returns an operation on an episode's id."""
