"""Pages of duels: the form, episodes side by side, and what steers the agents of all of them."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts import visitors
from apps.agents.models import Agent
from apps.duels import operations
from apps.duels.forms import MYSELF, DuelForm
from apps.duels.head_to_head import record_of
from apps.duels.side_by_side import Sides, at_turn, sides, sides_of
from apps.episodes.errors import NotFound, Refusal
from apps.episodes.models import Batch, Episode
from apps.episodes.replays.views import CHUNK
from apps.episodes.snapshot import public_snapshot, snapshot
from apps.episodes.views import find as find_episode
from apps.episodes.visibility import own_seat
from apps.htmx import wants_part
from apps.play import limits
from apps.play.forms import PACES, prefilled, withheld
from apps.play.responses import form_again
from apps.play.shows import operations as shows
from apps.play.shows.views import VERBS as SHOW_VERBS
from apps.play.shows.views import steering
from apps.play.tooling import ask_tools
from gem.agents import has_expert

OPENING = "game:Sokoban-v0-easy"
"""What the form offers first: two boards of it tell at a glance who is ahead."""
STEPS = {"lock-step": True, "free": False}
"""Whether the agents wait for one another at every turn, by the name of the button."""
STEP_LABELS = [("lock-step", "Lock step"), ("free", "Free")]
ASKED = ("env_id", "first", "second", "seed", "pace", "like")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Choose an environment, a seed and who plays; the agents begin at once."""
    if request.method != "POST":
        initial = _initial(request)
        form = DuelForm(request.user, initial=initial)
        context = {"form": form, "withheld": withheld(request.user, initial, "first", "second")}
        return render(request, "duels/new.html", context)
    form = DuelForm(request.user, request.POST)
    if not form.is_valid():
        return form_again(request, "duels/new.html", form)
    chosen = form.cleaned_data
    try:
        limits.check_start(request)
        begin = _start(form)
        ask_tools(begin.env_id, begin.wrappers)
        duel = operations.start(
            begin,
            form.agents,
            plays=form.plays,
            pace=chosen["pace"],
            lock_step=not chosen["free"],
            listed=not chosen["unlisted"],
            user=request.user,
            visitor=visitors.key(request),
        )
    except Refusal as refusal:
        return form_again(request, "duels/new.html", form, refusal)
    return redirect("duels:duel", duel.id)


@never_cache
@require_safe
def duel(request: HttpRequest, duel_id: str) -> HttpResponse:
    """The permalink: live while an episode runs, a replay of all of them afterwards; `?turn=5` opens it there."""
    return _page(request, _find(duel_id))


@never_cache
@require_safe
def side_by_side(request: HttpRequest, first_id: str, second_id: str) -> HttpResponse:
    """Two recorded episodes of the same start, replayed together as a duel is."""
    episodes = [find_episode(first_id), find_episode(second_id)]
    one, other = episodes
    if one.pk == other.pk or not _begin_alike(one, other):
        raise Http404("Only two episodes with the same environment and the same seed can be shown side by side.")
    if any(episode.seat_count > 1 for episode in episodes):
        raise Http404("An episode with several seats is replayed on its own page.")
    context = _context(request, sides([public_snapshot(episode) for episode in episodes]))
    return render(request, "duels/duel.html", context)


@require_POST
def add(request: HttpRequest, duel_id: str) -> HttpResponse:
    """Let another agent play the same seed."""
    found = _find(duel_id)
    visitor = visitors.known(request)
    if not operations.may_control(found, request.user, visitor):
        return HttpResponse("Only the person who started this duel can add an agent.", status=403)
    agent = Agent.objects.selectable_by(request.user).filter(slug=request.POST.get("agent", "")).first()
    try:
        if agent is None:
            raise shows.CannotPlay("This agent is not available. Nothing was started.")
        limits.check_start(request)
        first = found.episodes.order_by("slot").first()
        if first is not None:
            ask_tools(first.env_id, first.wrappers)
        operations.add(found, agent, user=request.user, visitor=visitor)
    except Refusal as refusal:
        return _refused(request, found, refusal)
    return redirect("duels:duel", found.id)


@require_POST
def control(request: HttpRequest, duel_id: str, verb: str) -> HttpResponse:
    """Pause, resume, one turn, stop, another pace, lock step or free; every page hears of it by its socket."""
    found = _find(duel_id)
    if verb not in {*SHOW_VERBS, *STEPS}:
        raise Http404(f"A duel has no control named {verb}.")
    if not operations.may_control(found, request.user, visitors.known(request)):
        return HttpResponse("Only the person who started this duel can control it.", status=403)
    try:
        if verb in STEPS:
            operations.keep_step(found, STEPS[verb])
        else:
            operations.steer(found, SHOW_VERBS[verb](request))
    except Refusal as refusal:
        return _refused(request, found, refusal)
    return HttpResponse(status=204) if wants_part(request) else redirect("duels:duel", found.id)


# ---------------------------------------------------------------- what they show


def _find(duel_id: str) -> Batch:
    try:
        return operations.find(duel_id)
    except NotFound as error:
        raise Http404(f"There is no duel {duel_id}. {error}") from error


def _page(request: HttpRequest, found: Batch, *, status: int = 200, **more: Any) -> HttpResponse:
    """The page of a duel; who plays in it has their own board to act on, first."""
    context = {**_context(request, sides_of(found)), "duel": found, **more}
    shown: Sides = context["sides"]
    visitor = visitors.known(request)
    for number, side in enumerate(shown.all):
        if not side.episode.over and own_seat(side.episode, request.user, visitor) is not None:
            context |= {"own": number, "own_side": side, "shot": snapshot(side.episode, 0)}
            context |= {"episode": side.episode, "acting": True, "racing": True}
    if operations.may_control(found, request.user, visitor):
        address = steering("duels:control", found.id)
        context |= {
            "may_control": True,
            "steer": address,
            "steps": STEP_LABELS,
            "paces": PACES,
            "addable": _addable(request, shown),
        }
    return render(request, "duels/duel.html", context, status=status)


def _context(request: HttpRequest, shown: Sides) -> dict[str, Any]:
    turn = _asked_turn(request, shown.last)
    return {
        "sides": shown if turn is None else at_turn(shown, turn),
        "turn": turn,
        "at": shown.last if turn is None else turn,
        "chunk_size": CHUNK,
        "pair": record_of(shown),
        "page_url": request.build_absolute_uri(request.path),
    }


def _asked_turn(request: HttpRequest, last: int) -> int | None:
    """The turn that the address asks for; None for the last, or while it is live."""
    text = request.GET.get("turn", "")
    if not (text.isascii() and text.isdecimal() and len(text) < 7):
        return None
    return min(int(text), last)


def _addable(request: HttpRequest, shown: Sides) -> list[Agent]:
    """The agents that may be added; none where there is no room."""
    if len(shown.all) >= operations.EPISODES_AT_MOST:
        return []
    offered = Agent.objects.offered_to(request.user)
    return [one for one in offered if one.kind != Agent.Kind.EXPERT or has_expert(shown.first.env_id)]


def _initial(request: HttpRequest) -> dict[str, Any]:
    initial = prefilled(request.GET, ASKED)
    like = Episode.objects.filter(pk=initial.get("like", ""), seat_count=1).first()
    if like is not None:
        initial |= {"env_id": like.env_id, "seed": str(like.seed)}
    env_id = initial.get("env_id", OPENING)
    return {"env_id": env_id, "first": "expert" if has_expert(env_id) else MYSELF, "second": "random", **initial}


def _start(form: DuelForm) -> operations.DuelStart:
    """Where the episodes begin: as the episode that the form is like, while environment and seed are still its own."""
    chosen = form.cleaned_data
    like = Episode.objects.filter(pk=chosen["like"], env_id=chosen["env_id"], seat_count=1).first()
    if like is None:
        return operations.DuelStart(chosen["env_id"], chosen["seed"])
    return operations.DuelStart(chosen["env_id"], chosen["seed"], like.env_kwargs, like.wrappers)


def _begin_alike(one: Episode, other: Episode) -> bool:
    return one.identity() == other.identity()


def _refused(request: HttpRequest, found: Batch, refusal: Refusal) -> HttpResponse:
    if wants_part(request):
        context = {"notice": refusal, "swap": True}
        return render(request, "episodes/notice.html", context, status=refusal.status)
    return _page(request, found, status=refusal.status, notice=refusal)
