"""The page of the tree of an episode: continuing from any turn, and exports."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from apps.accounts import visitors
from apps.accounts.models import Viewer, account_of
from apps.agents.models import Agent
from apps.downloads import jsonl
from apps.episodes.errors import NotFound, Refusal
from apps.episodes.models import Episode
from apps.episodes.replays.replay_frames import replay_frames
from apps.episodes.replays.views import CHUNK
from apps.episodes.snapshot import snapshot
from apps.episodes.views import find, seen_from
from apps.htmx import wants_part
from apps.play import operations
from apps.play.responses import go_to, refused
from apps.play.shows import continuing
from apps.play.starting import from_forms, limits, once
from apps.play.starting.forms import playable
from apps.play.tree import drawing, exporting
from apps.play.tree.expected import expected
from apps.play.tree.reading import MOST_BRANCHES, Tree, tree_of, why_closed
from gem.errors import UnknownEnvironment
from gem.registry import EnvSpec

TIMES = (1, 4, 16)
"""The numbers of continuations that the page offers."""
GAPS = (("0", "any amount"), ("0.1", "at least 0.1"), ("0.5", "at least 0.5"))
"""The choices of the least difference of two returns."""
YOU = "you"
"""Stands for the person in the place of an agent."""
OTHERS = 100
"""Agents in the list of all others."""
PAIRS_SHOWN = 3
NUMBER_CHARS = 9
"""A number of a form with more characters is none."""


@never_cache
@require_safe
def tree(request: HttpRequest, episode_id: str, number: int | None = None) -> HttpResponse:
    """The tree of an episode over its replay; with `part`, only what has changed."""
    episode = find(request, episode_id)
    if number is not None and number > episode.turn_count:
        raise Http404(f"Episode {episode.label} has turns 0 to {episode.turn_count}; there is no turn {number}.")
    if closed := why_closed(episode):
        return render(request, "forks/closed.html", {"episode": episode, "closed": closed, "section": "watch"})
    found = tree_of(episode, request.user, visitors.known(request))
    context: dict[str, Any] = {"episode": episode, "tree": found, "section": "watch"}
    part = request.GET.get("part") if wants_part(request) else None
    if part == "export":
        return render(request, "forks/tree.html#export", {**context, **_export(request, found)})
    context |= {"drawings": [drawing.draw(found, "across"), drawing.draw(found, "down")], "most": MOST_BRANCHES}
    if part == "tree":
        return render(request, "forks/tree.html#changes", {**context, "swap": True})
    at = episode.turn_count if number is None else number
    seat = seen_from(request, episode)
    context |= {
        "shot": snapshot(episode, seat),
        "moment": replay_frames(episode, at, at, seat)[0],
        "chunk_size": CHUNK,
        "several": episode.seat_count > 1,
        **_choices(episode, request.user, visitors.known(request)),
        **_export(request, found),
    }
    return render(request, "forks/tree.html", context)


@require_POST
def go_on(request: HttpRequest, episode_id: str) -> HttpResponse:
    """Continue from a turn: by oneself, or by any agent, once or several times."""
    episode = find(request, episode_id)
    slug = request.POST.get("agent", "")
    slug = request.POST.get("other", "") if slug == "other" else slug
    turn, count = _number(request, "turn"), _number(request, "count")
    address = visitors.address(request)
    try:
        if turn is None:
            raise NotFound(f"A turn is a whole number from 0 to {episode.turn_count}.")
        if slug == YOU:
            limits.check_start(request)
            visitor = visitors.key(request)
            branch = operations.fork(episode, turn, user=request.user, visitor=visitor, address=address, once=True)
            return go_to(request, branch)
        agent = from_forms.agent_to_finish(request.user, slug)
        visitor = "" if request.user.is_authenticated else visitors.key(request)
        digest = once.digest_of(request)
        branches = once.begun(digest)
        if not branches:
            limits.check_start(request)
            branches = continuing.continue_with(
                episode,
                turn,
                agent,
                count=1 if count is None else count,
                user=account_of(request.user),
                visitor=visitor,
                address=address,
                form=digest,
            )
    except Refusal as refusal:
        return refused(request, episode, refusal, after=None)
    if len(branches) == 1:
        return go_to(request, branches[0])
    messages.info(request, f"{agent.name} continues {len(branches)} times from turn {turn}.")
    page = reverse("forks:turn", args=[episode.pk, turn])
    return HttpResponseClientRedirect(page) if wants_part(request) else redirect(page)


@never_cache
@require_safe
def export(request: HttpRequest, episode_id: str) -> HttpResponseBase:
    """The branches as data: preference pairs, counterfactual turns or whole episodes, as JSON Lines."""
    episode = find(request, episode_id)
    if closed := why_closed(episode):
        raise Http404(closed)
    visitor = visitors.known(request)
    found = tree_of(episode, request.user, visitor)
    kind = _kind(request)
    chosen = found.chosen(request.GET.getlist("end"))
    lines = exporting.lines(found, kind, chosen, _gap(request), request.user, visitor)
    return jsonl(request, lines, f"{kind}-{episode.pk}.jsonl")


# ---------------------------------------------------------------- helpers


def _choices(episode: Episode, user: Viewer, visitor: str) -> dict[str, Any]:
    """Who may continue: the agent that played, the expert and the random one, and all others that forms offer.

    What a continuation will take is known of those that have played here before.
    """
    spec = _spec(episode)
    own = Agent.objects.filter(seats__episode=episode, seats__number=episode.scored_seat).first()
    first = [slug for slug in (own.slug if own else "", "expert", "random") if slug]
    near = playable(Agent.objects.selectable_by(user).filter(slug__in=first), spec)
    others = list(playable(Agent.objects.offered_to(user).exclude(slug__in=first), spec).order_by("name")[:OTHERS])
    by_slug = {agent.slug: agent for agent in near}
    agents = [by_slug[slug] for slug in dict.fromkeys(first) if slug in by_slug]
    known = expected(episode.env_id, [*agents, *others], user, visitor)
    takes = {agent.slug: asdict(known[agent.pk]) for agent in (*agents, *others) if agent.pk in known}
    return {"agents": agents, "others": others, "times": TIMES, "takes": takes}


def _spec(episode: Episode) -> EnvSpec | None:
    try:
        return episode.spec
    except UnknownEnvironment:
        return None


def _export(request: HttpRequest, found: Tree) -> dict[str, Any]:
    """How much an export with these choices has, and its first pairs."""
    chosen = found.chosen(request.GET.getlist("end"))
    states = exporting.partings(found, chosen)
    gap = _gap(request)
    all_pairs = exporting.pairs(states, gap)
    ended = [branch for branch in chosen if branch.has_result]
    return {
        "kinds": exporting.KINDS,
        "kind": _kind(request),
        "gaps": GAPS,
        "gap": f"{gap:g}",
        "counts": {"pairs": len(all_pairs), "turns": len(states), "episodes": len(ended)},
        "pairs": [
            (pair, pair.chosen.mean(pair.parting.seat), pair.rejected.mean(pair.parting.seat))
            for pair in all_pairs[:PAIRS_SHOWN]
        ],
        "ended": ended,
    }


def _kind(request: HttpRequest) -> str:
    kind = request.GET.get("as", "pairs")
    return kind if kind in exporting.KINDS else "pairs"


def _gap(request: HttpRequest) -> float:
    """The least difference that the address names, if it is one."""
    try:
        gap = float(request.GET.get("gap", exporting.USUAL_GAP))
    except ValueError:
        return exporting.USUAL_GAP
    return gap if 0 <= gap < 1e9 else exporting.USUAL_GAP


def _number(request: HttpRequest, name: str) -> int | None:
    """The small non-negative integer in a form field; None if there is none."""
    text = request.POST.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= NUMBER_CHARS else None
