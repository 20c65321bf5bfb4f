"""Pages of agents: the list, one agent, the form of an endpoint, its test message, and deleting."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.limits import TooOften
from apps.accounts.models import User
from apps.agents import checkpoint_views, operations, trials
from apps.agents.forms import EndpointForm, initial
from apps.agents.models import Agent, Upload
from apps.agents.operations import TooManyAgents
from apps.agents.seal import CannotUnseal
from apps.visibility import save_choice
from gem.agents.endpoint import EndpointSpec

MAX_TRAINED = 50
"""The number of trained policies in the list, the newest. The list of jobs has all."""


@never_cache
@require_safe
def list(request: HttpRequest) -> HttpResponse:  # noqa: A001 (the page's name)
    """The user's own agents, those that others share, and the built-in ones."""
    endpoints = Agent.objects.endpoints().listed_for(request.user)
    uploads = Agent.objects.uploads().checkpoints().listed_for(request.user)
    context = {
        "trained": Agent.objects.trained_by(request.user).order_by("-created")[:MAX_TRAINED],
        "uploads": uploads,
        "sent": Upload.objects.filter(owner=request.user)[:10] if request.user.is_authenticated else [],
        "own": endpoints.filter(owner=request.user) if request.user.is_authenticated else [],
        "others": endpoints.exclude(owner=request.user) if request.user.is_authenticated else endpoints,
        "built_in": Agent.objects.filter(owner=None),
    }
    return render(request, "agents/list.html", context)


@never_cache
@require_safe
def agent(request: HttpRequest, slug: str) -> HttpResponse:
    """The set-up of an agent. Only the owner sees its address, and nobody sees its key."""
    policy = Agent.objects.checkpoints().visible_to(request.user).filter(slug=slug).first()
    if policy is not None:
        return checkpoint_views.page(request, policy)
    row = Agent.objects.endpoints().visible_to(request.user).filter(slug=slug).first()
    if row is None:
        raise Http404("There is no such agent, or it is private.")
    spec = EndpointSpec.model_validate(row.endpoint.spec)
    return render(
        request,
        "agents/agent.html",
        {"agent": row, "spec": spec, "is_mine": row.owner == request.user},
    )


@sensitive_post_parameters("key")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form for a new endpoint agent."""
    if not isinstance(request.user, User):
        return _log_in_first(resolve_url("agents:new"))
    if request.method != "POST":
        return _form_page(request, EndpointForm(initial=initial(request.user)))
    form = EndpointForm(request.POST)
    if not form.is_valid() or form.spec is None:
        return _form_page(request, form, status=422)
    values = form.cleaned_data
    try:
        agent = operations.create(
            request.user, values["name"], form.spec, form.key_entered, visibility=values["visibility"]
        )
    except TooManyAgents as refusal:
        form.add_error(None, str(refusal))
        return _form_page(request, form, status=422)
    messages.success(request, f"{agent.name} is saved. You can choose it wherever an agent plays.")
    return redirect(agent)


@sensitive_post_parameters("key")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, slug: str) -> HttpResponse:
    """The form that edits an endpoint agent. Everybody but its owner gets a 404."""
    agent = _own_endpoint(request, slug)
    assert agent.owner is not None
    if request.method != "POST":
        values = initial(agent.owner, agent.endpoint)
        return _form_page(request, EndpointForm(initial=values, stored=agent.endpoint), agent)
    form = EndpointForm(request.POST, stored=agent.endpoint)
    if not form.is_valid() or form.spec is None:
        return _form_page(request, form, agent, status=422)
    had_key = bool(agent.endpoint.sealed_key)
    values = form.cleaned_data
    operations.change(agent, values["name"], form.spec, form.key_entered, visibility=values["visibility"])
    if values.get("forget_key"):
        operations.forget_key(agent)
    agent.endpoint.refresh_from_db()
    if had_key and not agent.endpoint.sealed_key:
        messages.info(request, "The stored key was deleted.")
    messages.success(request, f"{agent.name} is saved.")
    return redirect(agent)


@require_POST
def visibility(request: HttpRequest, slug: str) -> HttpResponse:
    """Change who may see an agent. Only its owner can."""
    agent = Agent.objects.filter(retired=False).visible_to(request.user).filter(slug=slug).first()
    if agent is None:
        raise Http404("There is no such agent, or it is private.")
    if agent.owner is None or agent.owner != request.user:
        raise PermissionDenied("Only the owner of an agent can change who may see it.")
    save_choice(request, partial(operations.set_visibility, agent))
    return redirect(agent)


@require_POST
def delete(request: HttpRequest, slug: str) -> HttpResponse:
    """Delete an endpoint agent or an uploaded checkpoint. Its episodes keep its name."""
    agent = Agent.objects.deletable_by(request.user).filter(slug=slug).first()
    if agent is None:
        raise Http404("There is no such agent, or it is private.")
    operations.delete(agent)
    lost = "key" if agent.kind == Agent.Kind.ENDPOINT else "weights"
    messages.success(request, f"{agent.name} and its {lost} were deleted.")
    return redirect("agents:list")


@sensitive_post_parameters("key")
@require_POST
def trial(request: HttpRequest) -> HttpResponse:
    """Send one message to the server with the values of the form, and show the response. Nothing is saved."""
    if not isinstance(request.user, User):
        return _log_in_first(resolve_url("agents:new"))
    slug = request.POST.get("agent", "")
    stored = _own_endpoint(request, slug).endpoint if slug else None
    form = EndpointForm(request.POST.dict() | {"name": "trial"}, stored=stored)
    if not form.is_valid() or form.spec is None:
        sentences = [f"{form[name].label}: {error}" if name in form.fields else error
                     for name, errors in form.errors.items() for error in errors]  # fmt: skip
        return render(request, "agents/edit.html#trial", {"wrong": sentences}, status=422)
    try:
        trials.check_trial(request.user)
        is_forgotten = bool(form.cleaned_data.get("forget_key"))
        key = trials.key_for(form.spec, form.key_entered, None if is_forgotten else form.stored)
    except TooOften as refusal:
        return render(request, "agents/edit.html#trial", {"wrong": [str(refusal)]}, status=429)
    except CannotUnseal as error:
        return render(request, "agents/edit.html#trial", {"wrong": [str(error)]}, status=422)
    context = {"trial": trials.try_once(form.spec, key), "url": form.spec.url}
    return render(request, "agents/edit.html#trial", context)


def _own_endpoint(request: HttpRequest, slug: str) -> Agent:
    agent = Agent.objects.endpoints().filter(slug=slug, owner_id=request.user.pk).first() if request.user.pk else None
    if agent is None:
        raise Http404("There is no such agent, or it is private.")
    return agent


def _form_page(
    request: HttpRequest, form: EndpointForm, agent: Agent | None = None, *, status: int = 200
) -> HttpResponse:
    if form.is_bound and form["key"].data:
        form.ask_for_key_again()
    context: dict[str, Any] = {"form": form, "agent": agent}
    return render(request, "agents/edit.html", context, status=status)


def _log_in_first(back: str) -> HttpResponse:
    return redirect(f"{resolve_url('accounts:login')}?{urlencode({'next': back})}")
