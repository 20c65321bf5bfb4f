"""Pages of duels: the form, episodes side by side, and the controls of their agents."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.core.exceptions import PermissionDenied
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
from apps.play.responses import form_again
from apps.play.shows import operations as shows
from apps.play.shows.steering import steering
from apps.play.shows.views import VERBS as SHOW_VERBS
from apps.play.starting import limits, once
from apps.play.starting.forms import PACES, prefilled, withheld
from apps.play.starting.tooling import ask_tools
from apps.visibility import save_choice
from gem.agents import has_expert
from gem.registry import unregistered

DEFAULT_ENV = "game:Sokoban-v0-easy"
"""The environment that the form offers first: its boards show at a glance who is ahead."""
STEPS = {"lock-step": True, "free": False}
"""Button name to whether the agents wait for one another at every turn."""
STEP_LABELS = [("lock-step", "Lock step"), ("free", "Free")]
PREFILLED_FIELDS = ("env_id", "first", "second", "seed", "pace", "visibility", "like")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form: choose an environment, a seed and the players. The agents start at once."""
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
        visitor, digest = once.visitor_of(request), once.digest_of(request)
        if begun := once.begun(digest):
            return redirect("duels:duel", begun[0].batch_id)
        limits.check_start(request)
        begin = _start(request, form)
        ask_tools(begin.env_id, begin.wrappers)
        duel = operations.start(
            begin,
            form.agents,
            plays=form.plays,
            pace=chosen["pace"],
            lock_step=not chosen["free"],
            user=request.user,
            visitor=visitor,
            address=visitors.address(request),
            visibility=chosen["visibility"],
            form=digest,
        )
    except Refusal as refusal:
        return form_again(request, "duels/new.html", form, refusal)
    return redirect("duels:duel", duel.id)


@never_cache
@require_safe
def duel(request: HttpRequest, duel_id: str) -> HttpResponse:
    """The permalink: live while an episode runs, a replay afterwards. `?turn=5` opens it at turn 5."""
    return _page(request, _find(request, duel_id))


@never_cache
@require_safe
def side_by_side(request: HttpRequest, first_id: str, second_id: str) -> HttpResponse:
    """Two recorded episodes with the same start, replayed together like a duel."""
    episodes = [find_episode(request, first_id), find_episode(request, second_id)]
    first, second = episodes
    if first.pk == second.pk or not _begin_alike(first, second):
        raise Http404("Only two episodes with the same environment and the same seed can be shown side by side.")
    if any(episode.seat_count > 1 for episode in episodes):
        raise Http404("An episode with several seats is replayed on its own page.")
    context = _context(request, sides([public_snapshot(episode) for episode in episodes]))
    return render(request, "duels/duel.html", context)


@require_POST
def add(request: HttpRequest, duel_id: str) -> HttpResponse:
    """Add an agent that plays the same seed."""
    batch = _find(request, duel_id)
    visitor = visitors.known(request)
    if not operations.may_control(batch, request.user, visitor):
        return HttpResponse("Only the person who started this duel can add an agent.", status=403)
    agent = Agent.objects.selectable_by(request.user).filter(slug=request.POST.get("agent", "")).first()
    try:
        if agent is None:
            raise shows.CannotPlay("This agent is not available. Nothing was started.")
        limits.check_start(request)
        text = request.POST.get("place", "")
        place = int(text) if text.isascii() and text.isdecimal() and len(text) < 3 else None
        address = visitors.address(request)
        operations.add(batch, agent, user=request.user, visitor=visitor, address=address, place=place)
    except Refusal as refusal:
        return _refused(request, batch, refusal)
    return redirect("duels:duel", batch.id)


@require_POST
def control(request: HttpRequest, duel_id: str, verb: str) -> HttpResponse:
    """Pause, resume, one turn, stop, pace, lock step or free. Every open page gets the change by its socket."""
    batch = _find(request, duel_id)
    if verb not in {*SHOW_VERBS, *STEPS}:
        raise Http404(f"A duel has no control named {verb}.")
    if not operations.may_control(batch, request.user, visitors.known(request)):
        return HttpResponse("Only the person who started this duel can control it.", status=403)
    try:
        if verb in STEPS:
            operations.keep_step(batch, STEPS[verb])
        else:
            operations.steer(batch, SHOW_VERBS[verb](request))
    except Refusal as refusal:
        return _refused(request, batch, refusal)
    return HttpResponse(status=204) if wants_part(request) else redirect("duels:duel", batch.id)


@require_POST
def visibility(request: HttpRequest, duel_id: str) -> HttpResponse:
    """Change who may see a duel. Only the person who started it can."""
    batch = _find(request, duel_id)
    if not _is_mine(request, batch):
        raise PermissionDenied("Only the person who started this duel can change who may see it.")
    save_choice(request, partial(operations.set_visibility, batch))
    return redirect("duels:duel", batch.id)


# ---------------------------------------------------------------- helpers


def _find(request: HttpRequest, duel_id: str) -> Batch:
    try:
        return operations.find(duel_id, request.user, visitors.known(request))
    except NotFound as error:
        raise Http404(f"There is no duel {duel_id}. {error}") from error


def _is_mine(request: HttpRequest, duel: Batch) -> bool:
    return Batch.objects.owned(request.user, visitors.known(request)).filter(pk=duel.pk).exists()


def _page(request: HttpRequest, duel: Batch, *, status: int = 200, **more: Any) -> HttpResponse:
    """The page of a duel. For a person who plays in it, their own board comes first."""
    context = {**_context(request, sides_of(duel)), "duel": duel, **more}
    all_sides: Sides = context["sides"]
    visitor = visitors.known(request)
    for number, side in enumerate(all_sides.all):
        if not side.episode.over and own_seat(side.episode, request.user, visitor) is not None:
            context |= {"own": number, "own_side": side, "shot": snapshot(side.episode, 0)}
            context |= {"episode": side.episode, "acting": True, "racing": True}
    context["is_mine"] = _is_mine(request, duel)
    if operations.may_control(duel, request.user, visitor):
        address = steering("duels:control", duel.id)
        context |= {
            "may_control": True,
            "steer": address,
            "steps": STEP_LABELS,
            "paces": PACES,
            "addable": _addable(request, all_sides),
            "place": len(all_sides.all),
        }
    return render(request, "duels/duel.html", context, status=status)


def _context(request: HttpRequest, all_sides: Sides) -> dict[str, Any]:
    turn = _requested_turn(request, all_sides)
    return {
        "sides": all_sides if turn is None else at_turn(all_sides, turn),
        "turn": turn,
        "at": all_sides.last if turn is None else turn,
        "chunk_size": CHUNK,
        "pair": record_of(all_sides),
        "page_url": request.build_absolute_uri(request.path),
    }


def _requested_turn(request: HttpRequest, all_sides: Sides) -> int | None:
    """The turn that the address requests, by its number or as `parting`; None for the latest."""
    text = request.GET.get("turn", "")
    if text == "parting":
        return all_sides.parting
    if not (text.isascii() and text.isdecimal() and len(text) < 7):
        return None
    return min(int(text), all_sides.last)


def _addable(request: HttpRequest, all_sides: Sides) -> list[Agent]:
    """The agents that may be added; none if the duel is full, or its environment is gone."""
    if len(all_sides.all) >= operations.MAX_EPISODES or unregistered([all_sides.first.env_id]):
        return []
    agents = Agent.objects.offered_to(request.user)
    return [agent for agent in agents if agent.kind != Agent.Kind.EXPERT or has_expert(all_sides.first.env_id)]


def _initial(request: HttpRequest) -> dict[str, Any]:
    initial = prefilled(request.GET, PREFILLED_FIELDS)
    episode = _like(request, initial.get("like", ""))
    if episode is not None:
        initial |= {"env_id": episode.env_id, "seed": str(episode.seed)}
    env_id = initial.get("env_id", DEFAULT_ENV)
    return {"env_id": env_id, "first": "expert" if has_expert(env_id) else MYSELF, "second": "random", **initial}


def _start(request: HttpRequest, form: DuelForm) -> operations.DuelStart:
    """What the episodes start from: a copy of the episode that the form names, if the environment is still the same."""
    chosen = form.cleaned_data
    episode = _like(request, chosen["like"])
    if episode is None or episode.env_id != chosen["env_id"]:
        return operations.DuelStart(chosen["env_id"], chosen["seed"])
    return operations.DuelStart(chosen["env_id"], chosen["seed"], episode.env_kwargs, episode.wrappers)


def _like(request: HttpRequest, episode_id: str) -> Episode | None:
    """The episode that a duel copies, if this person may see it and it has one seat."""
    episodes = Episode.objects.visible_to(request.user, visitors.known(request))
    return episodes.opened().filter(pk=episode_id, seat_count=1).first()


def _begin_alike(first: Episode, second: Episode) -> bool:
    return first.identity() == second.identity()


def _refused(request: HttpRequest, duel: Batch, refusal: Refusal) -> HttpResponse:
    if wants_part(request):
        context = {"notice": refusal, "swap": True}
        return render(request, "episodes/notice.html", context, status=refusal.status)
    return _page(request, duel, status=refusal.status, notice=refusal)
