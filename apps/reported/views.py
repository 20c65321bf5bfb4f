"""Pages of reported evaluations: the list, the form that takes a file, one with its episodes, and their replays."""

from __future__ import annotations

import json

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.models import User
from apps.htmx import wants_part
from apps.reported import reading_files, recording, replays
from apps.reported.models import MAX_NAME, ReportedEpisode, ReportedEvaluation
from apps.reported.recording import ReportRefused
from apps.visibility import VisibilityField, save_choice

MOST = 100
CHUNK = 20
"""Turns per chunk of a replay."""
MAX_NUMBER = 2**31 - 1


class FileForm(forms.Form):
    """A file of another program."""

    file = forms.FileField(label="File")
    name = forms.CharField(label="Name", max_length=MAX_NAME, required=False)
    visibility = VisibilityField()


@never_cache
@require_safe
def list(request: HttpRequest) -> HttpResponse:  # noqa: A001 (the page's name)
    """The newest reported evaluations."""
    rows = ReportedEvaluation.objects.listed_for(request.user).select_related("owner")
    return render(request, "reported/list.html", {"rows": rows[:MOST]})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form that takes a file. A worker reads it."""
    if not isinstance(request.user, User):
        return redirect(f"{resolve_url('accounts:login')}?{urlencode({'next': reverse('reported:new')})}")
    form = FileForm(request.POST, request.FILES) if request.method == "POST" else FileForm()
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data
        try:
            name = values["name"] or values["file"].name
            return redirect(reading_files.accept(request.user, name, values["file"], visibility=values["visibility"]))
        except ReportRefused as refusal:
            form.add_error(None, str(refusal))
    return render(request, "reported/new.html", {"form": form}, status=422 if form.errors else 200)


@never_cache
@require_safe
def evaluation(request: HttpRequest, evaluation_id: str) -> HttpResponse:
    """A reported evaluation with its episodes, the first ones or those after a number."""
    row = find(request, evaluation_id)
    after = _whole(request.GET.get("after", ""))
    fields = ("id", "evaluation", "number", "example", "env_id", "reward", "solved", "error", "turns")
    episodes = [*ReportedEpisode.objects.filter(evaluation=row, number__gt=after).only(*fields)[: MOST + 1]]
    context = {
        "row": row,
        "episodes": episodes[:MOST],
        "next": episodes[MOST - 1].number if len(episodes) > MOST else None,
        "config": json.dumps(row.config, indent=2, ensure_ascii=False) if row.config else "",
        "is_mine": row.owner_id == request.user.pk,
    }
    template = "reported/evaluation.html" + ("#standing" if wants_part(request) else "")
    return render(request, template, context)


@never_cache
@require_safe
def episode(request: HttpRequest, evaluation_id: str, number: int) -> HttpResponse:
    """The replay of an episode, opened at its end."""
    return _replay(request, _episode(request, evaluation_id, number), None)


@never_cache
@require_safe
def turn(request: HttpRequest, evaluation_id: str, number: int, turn: int) -> HttpResponse:
    """The replay of an episode, opened at a turn."""
    return _replay(request, _episode(request, evaluation_id, number), turn)


@never_cache
@require_safe
def frames(request: HttpRequest, evaluation_id: str, number: int, chunk: int) -> HttpResponse:
    """The turns of one chunk for the player."""
    row = _episode(request, evaluation_id, number)
    if chunk > row.turns // CHUNK:
        raise Http404("There is no such chunk.")
    moments = replays.frames(row, chunk * CHUNK, chunk * CHUNK + CHUNK - 1)
    context = {"moments": moments, "episode": replays.replay_of(row)[0], "several": False}
    return render(request, "episodes/frames.html", context)


@require_POST
def visibility(request: HttpRequest, evaluation_id: str) -> HttpResponse:
    """Choose who may see an evaluation. Only its owner can."""
    row = _own(request, evaluation_id)
    save_choice(request, lambda chosen: recording.set_visibility(row, chosen))
    return redirect(row)


@require_POST
def delete(request: HttpRequest, evaluation_id: str) -> HttpResponse:
    """Delete an evaluation with its episodes. Only its owner can."""
    recording.delete(_own(request, evaluation_id))
    messages.success(request, "The reported evaluation is deleted.")
    return redirect("reported:list")


def find(request: HttpRequest, evaluation_id: str) -> ReportedEvaluation:
    """A reported evaluation that this person may see.

    Raises:
        Http404: there is none.
    """
    row = ReportedEvaluation.objects.visible_to(request.user).select_related("owner").filter(pk=evaluation_id).first()
    if row is None:
        raise Http404(f"There is no reported evaluation {evaluation_id}.")
    return row


def _episode(request: HttpRequest, evaluation_id: str, number: int) -> ReportedEpisode:
    evaluation = find(request, evaluation_id)
    rows = ReportedEpisode.objects.filter(evaluation=evaluation, number=min(number, MAX_NUMBER))
    row = rows.select_related("evaluation__owner").first()
    if row is None:
        raise Http404("There is no such episode.")
    return row


def _replay(request: HttpRequest, row: ReportedEpisode, at: int | None) -> HttpResponse:
    replay, _ = replays.replay_of(row)
    number = replay.turn_count if at is None else at
    if number > replay.turn_count:
        raise Http404(f"This episode has turns 0 to {replay.turn_count}; there is no turn {number}.")
    near = ReportedEpisode.objects.filter(evaluation=row.evaluation_id)
    context = {
        "row": row,
        "evaluation": row.evaluation,
        "episode": replay,
        "moment": replays.frames(row, number, number)[0],
        "chunk_size": CHUNK,
        "previous": near.filter(number__lt=row.number).order_by("-number").values_list("number", flat=True).first(),
        "following": near.filter(number__gt=row.number).order_by("number").values_list("number", flat=True).first(),
    }
    return render(request, "reported/episode.html", context)


def _own(request: HttpRequest, evaluation_id: str) -> ReportedEvaluation:
    row = find(request, evaluation_id)
    if row.owner_id != request.user.pk:
        raise PermissionDenied("Only the owner of a reported evaluation can change it.")
    return row


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
