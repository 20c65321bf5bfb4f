"""The pages of the credit lens: one episode, and all episodes of one seed."""

from __future__ import annotations

import csv
import io
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.accounts import visitors
from apps.admission.models import name_of
from apps.episodes.errors import NotFound, Refusal
from apps.episodes.models import Episode
from apps.episodes.replays.replay_frames import replay_frames
from apps.episodes.replays.views import CHUNK
from apps.episodes.snapshot import snapshot
from apps.episodes.views import find
from apps.lens import asking, computing
from apps.lens import credit as reading
from apps.lens.heat import heat_of
from apps.lens.models import Truth
from apps.play.responses import refused

NUMBER_CHARS = 9
"""A number of a form with more characters is none."""


@never_cache
@require_safe
def credit(request: HttpRequest, episode_id: str, number: int | None = None) -> HttpResponse:
    """The credit lens of an episode, beside its replay."""
    episode = find(request, episode_id)
    if number is not None and number > episode.turn_count:
        raise Http404(f"Episode {episode.label} has turns 0 to {episode.turn_count}; there is no turn {number}.")
    if closed := asking.why_closed(episode):
        return render(request, "lens/closed.html", {"episode": episode, "closed": closed, "section": "watch"})
    at = episode.turn_count if number is None else number
    lens = reading.read(episode, request.user, visitors.known(request))
    discount = reading.discount_from(request.GET.get("discount", ""))
    names, rows = reading.table(lens, discount)
    context = {
        "episode": episode,
        "shot": snapshot(episode, 0),
        "moment": replay_frames(episode, at, at, 0)[0],
        "chunk_size": CHUNK,
        "lens": lens,
        "data": reading.data_of(lens),
        "rows": reading.ROWS,
        "discount": discount,
        "names": names,
        "numbers": rows,
        "no_truth": asking.why_no_truth(episode),
        "agents": asking.agents_for(episode, request.user),
        "counts": asking.COUNTS,
        "usual": asking.USUAL_COUNT,
        "person": _person(request),
        "section": "watch",
    }
    return render(request, "lens/credit.html", context)


@never_cache
@require_safe
def credit_json(request: HttpRequest, episode_id: str) -> JsonResponse:
    """What the script of the page computes with, and how far the measurements are."""
    lens = _lens(request, episode_id)
    data = reading.data_of(lens)
    for entry, truth in zip(data["truths"], lens.truths, strict=True):
        entry["words"] = state_in_words(truth)
    return JsonResponse(data)


@never_cache
@require_safe
def credit_csv(request: HttpRequest, episode_id: str) -> HttpResponse:
    """The numbers of the lens at one discount, a row for each turn."""
    lens = _lens(request, episode_id)
    names, rows = reading.table(lens, reading.discount_from(request.GET.get("discount", "")))
    sheet = io.StringIO()
    writer = csv.writer(sheet, lineterminator="\n")
    writer.writerows([names, *rows])
    response = HttpResponse(sheet.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="credit-{lens.episode.id}.csv"'
    return response


@never_cache
@require_safe
def same_seed(request: HttpRequest, episode_id: str) -> HttpResponse:
    """All episodes of one seed that this person may see, with the credit of every turn."""
    episode = find(request, episode_id)
    closed = asking.why_closed(episode)
    heat = None if closed else heat_of(episode, request.user, visitors.known(request))
    template = "lens/closed.html" if closed else "lens/same_seed.html"
    return render(request, template, {"episode": episode, "closed": closed, "heat": heat, "section": "watch"})


@require_POST
def measure(request: HttpRequest, episode_id: str) -> HttpResponse:
    """Have a worker measure the true advantages of an episode, or of one of its turns."""
    episode = find(request, episode_id)
    try:
        asking.ask(
            episode,
            request.POST.get("agent", ""),
            _number(request, "count"),
            _number(request, "turn") if request.POST.get("which") == "turn" else None,
            user=request.user,
            person=_person(request, begins=True),
            address=visitors.address(request),
        )
    except Refusal as refusal:
        return refused(request, episode, refusal, after=None)
    return _back(request, episode)


@require_POST
def stop(request: HttpRequest, episode_id: str, key: str) -> HttpResponse:
    """Stop a measurement of one's own."""
    episode = find(request, episode_id)
    try:
        asking.stop(episode, key, person=_person(request), is_staff=request.user.is_staff)
    except NotFound as refusal:
        raise Http404(str(refusal)) from refusal
    return _back(request, episode)


def state_in_words(truth: Truth) -> str:
    """How far a measurement is, as a sentence."""
    done = len(truth.turns.all())
    words = f"{done} of {truth.total} turn{'' if truth.total == 1 else 's'} measured"
    if not truth.is_open:
        return f"{words}. {truth.sentence}" if truth.sentence else f"{words}."
    if place := computing.place(truth):
        return f"{words}. Number {place} in the queue."
    return f"{words}. A worker is continuing the episode now."


def _lens(request: HttpRequest, episode_id: str) -> reading.Lens:
    episode = find(request, episode_id)
    if closed := asking.why_closed(episode):
        raise Http404(closed)
    return reading.read(episode, request.user, visitors.known(request))


def _person(request: HttpRequest, *, begins: bool = False) -> str:
    """The name of this person in lines; empty for a visitor without a key, who gets one if they begin something."""
    if request.user.is_authenticated:
        return name_of(request.user.pk)
    return name_of(None, visitors.key(request) if begins else visitors.known(request))


def _number(request: HttpRequest, name: str) -> int:
    """The number in a field of a form; 0 if there is none."""
    text = request.POST.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < NUMBER_CHARS else 0


def _back(request: HttpRequest, episode: Episode) -> HttpResponse:
    """Return to the turn that the person was reading."""
    at: Any = _number(request, "turn")
    page = reverse("lens:turn", args=[episode.pk, min(at, episode.turn_count)])
    return redirect(f"{page}#lens")
