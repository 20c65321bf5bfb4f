"""The page of a connection: how to connect a remote agent, whether it is connected, and what it plays now."""

from __future__ import annotations

import shlex
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models.functions import Now
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.agents.operations import TooManyAgents
from apps.api import operations as tokens
from apps.api.models import ApiToken
from apps.api.operations import TooManyTokens
from apps.connect.forms import ChatForm, NewForm, SeatsForm
from apps.connect.program import program_for
from apps.episodes.errors import Refusal
from apps.episodes.views import find
from apps.play.starting import limits
from apps.remote import operations
from apps.remote.models import EpisodeKey, Question, Remote
from gem.errors import GemError

TOKEN_DAYS = 30
SHOWN = 20
"""Turns in the strip."""
STOP_ASKING = 286
"""The status that tells htmx that there will be nothing new."""


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form that adds a remote agent."""
    if not isinstance(request.user, User):
        return redirect(f"{resolve_url('accounts:login')}?{urlencode({'next': resolve_url('connect:new')})}")
    form = NewForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        return render(request, "connect/new.html", {"form": form}, status=422 if request.method == "POST" else 200)
    try:
        agent = operations.create(request.user, form.cleaned_data["name"])
    except TooManyAgents as refusal:
        form.add_error(None, str(refusal))
        return render(request, "connect/new.html", {"form": form}, status=422)
    return redirect("connect:agent", agent.slug)


@never_cache
@require_safe
def agent(request: HttpRequest, slug: str) -> HttpResponse:
    """How to connect a remote agent, and what it does now. Everybody but its owner gets a 404."""
    return _page(request, _own(request, slug))


@never_cache
@require_safe
def strip(request: HttpRequest, slug: str) -> HttpResponse:
    """Whether it is connected, and what it plays now."""
    return render(request, "connect/strip.html", _standing(_own(request, slug)))


@never_cache
@require_safe
def asked(request: HttpRequest, episode_id: str) -> HttpResponse:
    """For the page of a live episode: which remote agent it waits for, and whether that is connected."""
    episode = find(request, episode_id)
    question = (
        Question.objects.filter(episode=episode.pk).awaited().unanswered().select_related("agent__remote").first()
    )
    status = STOP_ASKING if episode.over else 200
    is_mine = question is not None and question.agent.owner_id == request.user.pk
    return render(request, "connect/asked.html", {"question": question, "is_mine": is_mine}, status=status)


@sensitive_variables("secret")
@never_cache
@require_POST
@login_required
def token(request: HttpRequest, slug: str) -> HttpResponse:
    """Make a token that connects this agent and does nothing else; it is shown once, in the response."""
    row = _own(request, slug)
    assert isinstance(request.user, User)
    try:
        lifetime = timedelta(days=TOKEN_DAYS)
        _, secret = tokens.make_token(request.user, f"{row.name} connects"[:80], [], lifetime, agent=row)
    except TooManyTokens as refusal:
        messages.error(request, str(refusal))
        return _page(request, row, status=422)
    return _page(request, row, secret=secret)


@require_POST
@login_required
def seats(request: HttpRequest, slug: str) -> HttpResponse:
    """Change how many turns it is asked for at a time."""
    row = _own(request, slug)
    form = SeatsForm(request.POST)
    if not form.is_valid():
        return _page(request, row, status=422, seats_form=form)
    operations.set_seats(row, form.cleaned_data["seats"])
    messages.success(request, "Saved.")
    return redirect("connect:agent", slug)


@sensitive_variables("begun")
@never_cache
@require_POST
@login_required
def chat(request: HttpRequest, slug: str) -> HttpResponse:
    """Begin an episode that a program plays by chat completions. Its key is shown once, in the response."""
    row = _own(request, slug)
    assert isinstance(request.user, User)
    form = ChatForm(request.POST)
    if not form.is_valid():
        return _page(request, row, status=422, chat_form=form)
    try:
        limits.check_start(request)
        begun = operations.begin_chat(
            row, form.cleaned_data["env_id"], user=request.user, seed=form.cleaned_data["seed"]
        )
    except (Refusal, GemError) as refusal:
        form.add_error(None, str(refusal))
        return _page(request, row, status=422, chat_form=form)
    base_url = request.build_absolute_uri(begun.path)
    return _page(request, row, chat_form=form, chat={"episode": begun.episode, "key": begun.secret, "url": base_url})


def _own(request: HttpRequest, slug: str) -> Agent:
    """The remote agent of the person who asks."""
    found = Agent.objects.remotes().filter(slug=slug, owner_id=request.user.pk).first() if request.user.pk else None
    if found is None:
        raise Http404("There is no such agent, or it is not yours.")
    return found


def _standing(row: Agent) -> dict[str, Any]:
    """What the strip shows: its connection, and the turns that it was asked for."""
    remote = Remote.objects.get(agent=row)
    questions = list(Question.objects.filter(agent=row).awaited().unanswered().order_by("pk")[:SHOWN])
    chats = EpisodeKey.objects.filter(episode__in=[question.episode for question in questions], expires__gt=Now())
    thinking = sum(question.sent is not None for question in questions)
    if remote.is_connected:
        state = "playing" if thinking else "connected"
    elif remote.since is None:
        state = "waiting"
    else:
        state = "lost" if remote.holder is not None else "away"
    return {
        "agent": row,
        "remote": remote,
        "questions": questions,
        "chats": set(chats.values_list("pk", flat=True)),
        "thinking": thinking,
        "state": state,
        "wait": round(settings.REMOTE_WAIT_SECONDS / 60),
        "back": settings.REMOTE_LOST_SECONDS,
    }


def _page(request: HttpRequest, row: Agent, *, status: int = 200, **more: Any) -> HttpResponse:
    standing = _standing(row)
    socket = request.build_absolute_uri(standing["remote"].path).replace("http", "ws", 1)
    context = {
        **standing,
        "has_token": ApiToken.objects.valid().filter(agent=row).exists() or "secret" in more,
        "seats_form": SeatsForm(initial={"seats": standing["remote"].seats}),
        "chat_form": ChatForm(),
        "program": program_for(socket),
        "command": f"gemweb agent serve my_agent.py --name {shlex.quote(row.name)}",
        "site": request.build_absolute_uri("/").rstrip("/"),
        "turn_seconds": settings.REMOTE_TURN_SECONDS,
        "token_days": TOKEN_DAYS,
        **more,
    }
    return render(request, "connect/agent.html", context, status=status)
