"""Having an agent play live, and steering it."""

from __future__ import annotations

import functools
from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts import visitors
from apps.accounts.models import account_of
from apps.episodes.errors import Refusal
from apps.episodes.snapshot import public_snapshot
from apps.episodes.tools import choice as tool_choice
from apps.episodes.views import find
from apps.htmx import wants_part
from apps.play import limits
from apps.play.forms import PACES, WatchForm, prefilled, who_plays, withheld
from apps.play.responses import form_again, go_to, refused
from apps.play.shows import operations as shows
from apps.play.tooling import ask_tools

WATCHED = ("env_id", "agent", "opponent", "seed", "pace", *tool_choice.FIELDS)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def watch_new(request: HttpRequest) -> HttpResponse:
    """Choose an environment and an agent, and let it play."""
    if request.method != "POST":
        asked = prefilled(request.GET, WATCHED)
        initial = {"agent": who_plays(asked.get("env_id", "")), **asked}
        form = WatchForm(request.user, initial=initial)
        context = {"form": form, "withheld": withheld(request.user, asked, "agent", "opponent")}
        return render(request, "play/watch_new.html", context)
    form = WatchForm(request.user, request.POST)
    if not form.is_valid():
        return form_again(request, "play/watch_new.html", form)
    chosen = form.cleaned_data
    try:
        limits.check_start(request)
        ask_tools(chosen["env_id"], form.tool_wrappers)
        episode = shows.start(
            chosen["env_id"],
            chosen["agent"],
            opponent=chosen["opponent"],
            seed=chosen["seed"],
            wrappers=form.tool_wrappers,
            pace=chosen["pace"],
            user=account_of(request.user),
            visitor="" if request.user.is_authenticated else visitors.key(request),
        )
    except Refusal as refusal:
        return form_again(request, "play/watch_new.html", form, refusal)
    return go_to(request, episode)


# ---------------------------------------------------------------- steering what an agent plays


@never_cache
@require_safe
def controls(request: HttpRequest, episode_id: str) -> HttpResponse:
    """The buttons for whoever may steer the show; nothing for the others."""
    episode = find(episode_id)
    may = shows.may_control(episode, request.user, visitors.known(request))
    context = {"episode": episode, "shot": public_snapshot(episode), "may_control": may, "paces": PACES}
    context["steer"] = steering("play:control", episode.id)
    page = "play/watch.html#controls" if wants_part(request) else "play/watch.html"
    return render(request, page, context)


@require_POST
def control(request: HttpRequest, episode_id: str, verb: str) -> HttpResponse:
    """Pause, resume, one turn, stop, or another pace; every page hears of it by its socket."""
    if verb not in VERBS:
        raise Http404(f"An episode has no control named {verb}.")
    episode = find(episode_id)
    try:
        may = shows.may_ask_again if verb == "resume" else shows.may_control
        if not may(episode, request.user, visitors.known(request)):
            return HttpResponse("Only the person who started this episode can control it.", status=403)
        VERBS[verb](request)(episode_id)
    except Refusal as refusal:
        return refused(request, episode, refusal, after=None)
    if wants_part(request):
        return HttpResponse(status=204)
    return redirect(episode)


def steering(name: str, key: str) -> str:
    """Where the buttons that steer what `key` names are sent; the verb and a slash follow."""
    return reverse(name, args=[key, "pause"]).removesuffix("pause/")


def pace_of(request: HttpRequest) -> float:
    """The pace that a form sends, in seconds for a turn.

    Raises:
        Refusal: it is no number.
    """
    try:
        return float(request.POST.get("pace", ""))
    except ValueError:
        raise Refusal("The pace is a number of seconds per turn, for example 0.5.") from None


VERBS: dict[str, Callable[[HttpRequest], Callable[[str], None]]] = {
    "pause": lambda _: shows.pause,
    "resume": lambda _: shows.resume,
    "one-turn": lambda _: shows.one_turn,
    "stop": lambda _: shows.stop,
    "pace": lambda request: functools.partial(shows.set_pace, seconds=pace_of(request)),
}
"""What a button does to a show: the operation, ready for the episode's id."""
