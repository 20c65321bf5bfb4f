"""Responses of the views of this app: another page, the changed parts of a page, or a refusal."""

from __future__ import annotations

import math
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django_htmx.http import HttpResponseClientRedirect

from apps.accounts import visitors
from apps.episodes.errors import Refusal, TooFast
from apps.episodes.models import Episode
from apps.episodes.snapshot import snapshot
from apps.episodes.views import play_page
from apps.episodes.visibility import own_seat, public_viewpoint
from apps.htmx import wants_part


def go_to(request: HttpRequest, episode: Episode) -> HttpResponse:
    """Redirect to the page of an episode."""
    if wants_part(request):
        return HttpResponseClientRedirect(episode.get_absolute_url())
    return redirect(episode)


def form_again(request: HttpRequest, template: str, form: forms.Form, refusal: Refusal | None = None) -> HttpResponse:
    """The form with its errors. A button on another page that posted to the form gets the errors as a notice."""
    status = refusal.status if refusal else 422
    if wants_part(request):
        sentence = (
            str(refusal) if refusal else " ".join(str(error) for errors in form.errors.values() for error in errors)
        )
        notice = refusal or Refusal(sentence)
        response = render(request, "episodes/notice.html", {"notice": notice, "swap": True}, status=status)
    else:
        response = render(request, template, {"form": form, "notice": refusal}, status=status)
    return with_wait(response, refusal)


def refused(
    request: HttpRequest, episode: Episode, refusal: Refusal, *, after: int | None, typed: str = ""
) -> HttpResponse:
    """The refusal with the current board. The text in the field stays."""
    if wants_part(request):
        if after is None:
            response = render(request, "episodes/notice.html", {"notice": refusal, "swap": True}, status=refusal.status)
        else:
            response = fragments(request, episode, after, notice=refusal, typed=typed)
            response.status_code = refusal.status
        return with_wait(response, refusal)
    seat = own_seat(episode, request.user, visitors.known(request))
    if not episode.over and seat is not None:
        response = play_page(request, snapshot(episode, seat), status=refusal.status, notice=refusal, typed=typed)
    else:
        context = {"notice": refusal, "episode": episode, "typed": typed}
        response = render(request, "episodes/refused.html", context, status=refusal.status)
    return with_wait(response, refusal)


def fragments(request: HttpRequest, episode: Episode, after: int, **more: Any) -> HttpResponse:
    """The fragments of the player's page that a turn changes, as the socket would send them."""
    seat = own_seat(episode, request.user, visitors.known(request))
    own = seat is not None
    shot = snapshot(episode, public_viewpoint(episode) if seat is None else seat)
    context = {
        "shot": shot,
        "own": own,
        "acting": own and not episode.over,
        "rows": shot.since(after),
        "announce": True,
        **more,
    }
    return render(request, "episodes/event.html", context)


def with_wait(response: HttpResponse, refusal: Refusal | None) -> HttpResponse:
    """Add the seconds to wait to the response if the refusal was for exceeding a rate limit."""
    if isinstance(refusal, TooFast):
        response["Retry-After"] = str(max(1, math.ceil(refusal.wait)))
    return response
