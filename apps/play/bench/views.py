"""Views of the tool bench: trial runs of programs, and the actions that a board offers."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.accounts import visitors
from apps.episodes.errors import Refusal
from apps.episodes.models import Episode
from apps.episodes.snapshot import snapshot
from apps.episodes.views import find
from apps.episodes.visibility import own_seat
from apps.htmx import wants_part
from apps.play.bench import trials
from apps.play.bench.trials import Trial
from apps.play.responses import refused, with_wait
from gem.views.actions import offered_actions


@require_POST
def try_out(request: HttpRequest, episode_id: str) -> HttpResponse:
    """Have a worker run the program in the field on the public tests."""
    episode = find(request, episode_id)
    visitor, address = visitors.known(request), visitors.address(request)
    try:
        program = request.POST.get("program", "")
        trial = trials.ask(episode, program, user=request.user, visitor=visitor, address=address)
    except Refusal as refusal:
        if not wants_part(request):
            return refused(request, episode, refusal, after=None)
        return with_wait(_fragment(request, episode, Trial("", problem=str(refusal)), refusal.status), refusal)
    return _fragment(request, episode, trial) if wants_part(request) else redirect(episode)


@never_cache
@require_safe
def trial(request: HttpRequest, episode_id: str) -> HttpResponse:
    """What is known of the trial run of a program, which `of` names by its digest, for the person who plays."""
    episode = find(request, episode_id)
    if own_seat(episode, request.user, visitors.known(request)) is None:
        raise Http404("Only the person who plays this episode sees trial runs.")
    return _fragment(request, episode, trials.latest(episode, trials.digest_in(request.GET.get("of", ""))))


@never_cache
@require_safe
def actions(request: HttpRequest, episode_id: str) -> HttpResponse:
    """The actions that the board offers whoever plays, as buttons that send them."""
    episode = find(request, episode_id)
    seat = own_seat(episode, request.user, visitors.known(request))
    if seat is None or episode.over:
        raise Http404("Only the person who plays sees the actions, while the episode runs.")
    shot = snapshot(episode, seat, history=1)
    offered, has_more = offered_actions(shot.view) if shot.yours else ([], False)
    context = {"offered": offered, "has_more": has_more, "shot": shot, "episode": episode}
    return render(request, "play/bench/actions.html", context)


def _fragment(request: HttpRequest, episode: Episode, trial: Trial, status: int = 200) -> HttpResponse:
    return render(request, "play/bench/trial.html", {"trial": trial, "episode": episode}, status=status)
