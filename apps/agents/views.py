"""Pages of agents: the list, one agent, the form of an endpoint, its test message, and deleting."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.limits import TooOften
from apps.accounts.models import User
from apps.agents import operations, profile_reader, trials
from apps.agents.forms import EndpointForm, FactsForm, ListForm, initial
from apps.agents.models import Agent, Upload
from apps.agents.operations import TooManyAgents
from apps.agents.seal import CannotUnseal
from apps.visibility import save_choice
from gem.agents.endpoint import EndpointSpec

PAGE_SIZE = 50
LOST_WITH = {"endpoint": " and its key were deleted.", "remote": " was deleted."}
"""The end of the sentence about an agent that was deleted, by its kind."""
MAX_TRAINED = 50
"""The number of trained policies in the list, the newest. The list of jobs has all."""


@never_cache
@require_safe
def list(request: HttpRequest) -> HttpResponse:  # noqa: A001 (the page's name)
    """All agents that somebody may find, filtered; below them the person's own ones, with their servers and uploads."""
    form = ListForm(request.GET)
    page = Paginator(form.agents(request.user), PAGE_SIZE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    context: dict[str, Any] = {
        "form": form,
        "page": page,
        "query": query.urlencode(),
        "filtered": any(query.values()),
        "results": profile_reader.results_of(page.object_list),
    }
    if isinstance(request.user, User):
        mine = Agent.objects.filter(owner=request.user)
        context |= {
            "trained": Agent.objects.trained_by(request.user).order_by("-created")[:MAX_TRAINED],
            "uploads": Agent.objects.uploads().filter(pk__in=mine),
            "sent": Upload.objects.filter(owner=request.user)[:10],
            "own": Agent.objects.endpoints().filter(pk__in=mine),
            "remotes": Agent.objects.remotes().filter(pk__in=mine).order_by("-created"),
        }
    return render(request, "agents/list.html", context)


@never_cache
@require_safe
def agent(request: HttpRequest, slug: str) -> HttpResponse:
    """The page of an agent: what it is, and its results. Only the owner of an endpoint sees its address."""
    row = Agent.objects.filter(retired=False).visible_to(request.user).filter(slug=slug).select_related("owner").first()
    if row is None:
        raise Http404("There is no such agent, or it is private.")
    if row.kind == Agent.Kind.CHECKPOINT and not hasattr(row, "weights"):
        raise Http404("There is no such agent, or it is private.")  # its training has saved nothing yet
    is_mine = row.owner is not None and row.owner == request.user
    context = {
        "agent": row,
        "is_mine": is_mine,
        "facts_form": FactsForm(row) if is_mine else None,
        "size": row.size_in_words,
        "lede": _lede(row),
        **profile_reader.profile_of(request, row),
    }
    if row.owner is None:
        request.reported = None  # type: ignore[attr-defined]  # nobody reports the site's own agents
    if row.kind == Agent.Kind.CHECKPOINT:
        return render(request, "agents/checkpoint.html", context)
    if row.kind == Agent.Kind.ENDPOINT:
        context["spec"] = EndpointSpec.model_validate(row.endpoint.spec)
        return render(request, "agents/agent.html", context)
    return render(request, "agents/built_in.html", context)


@sensitive_post_parameters("key")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form for a new endpoint agent."""
    if not isinstance(request.user, User):
        return redirect_to_login(resolve_url("agents:new"))
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
def facts(request: HttpRequest, slug: str) -> HttpResponse:
    """Store what the owner of an agent says about it, and whether it plays the daily seed."""
    agent = Agent.objects.filter(retired=False).visible_to(request.user).filter(slug=slug).first()
    if agent is None:
        raise Http404("There is no such agent, or it is private.")
    if agent.owner is None or agent.owner != request.user:
        raise PermissionDenied("Only the owner of an agent can say what it is.")
    form = FactsForm(agent, request.POST)
    if form.is_valid():
        operations.declare(agent, form.said)
        messages.success(request, "Saved.")
    else:
        sentences = " ".join(str(error) for errors in form.errors.values() for error in errors)
        messages.error(request, f"{sentences} Nothing was changed.")
    return redirect(agent)


@require_POST
def delete(request: HttpRequest, slug: str) -> HttpResponse:
    """Delete an endpoint agent or an uploaded checkpoint. Its episodes keep its name."""
    agent = Agent.objects.deletable_by(request.user).filter(slug=slug).first()
    if agent is None:
        raise Http404("There is no such agent, or it is private.")
    operations.delete(agent)
    lost = LOST_WITH.get(agent.kind, " and its weights were deleted.")
    messages.success(request, f"{agent.name}{lost}")
    return redirect("agents:list")


@sensitive_post_parameters("key")
@require_POST
def trial(request: HttpRequest) -> HttpResponse:
    """Send one message to the server with the values of the form, and show the response. Nothing is saved."""
    if not isinstance(request.user, User):
        return redirect_to_login(resolve_url("agents:new"))
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


def _lede(agent: Agent) -> str:
    """What an agent is, in a sentence or two."""
    if agent.kind == Agent.Kind.ENDPOINT:
        model = str(agent.endpoint.spec["model"])[:80]
        return f"The model {model} behind an OpenAI-compatible server, version {agent.endpoint.version} of its set-up."
    if agent.kind == Agent.Kind.REMOTE:
        return "A program on the machine of its owner, which connects to this site and waits for seats."
    if agent.kind != Agent.Kind.CHECKPOINT:
        return agent.about
    card = agent.weights.card
    trained = f" trained on {card['env_id']}" if card.get("env_id") else ""
    after = f", after update {card['update']:,}" if card.get("job") and card.get("update") else ""
    origin = " It was uploaded." if agent.weights.uploaded else ""
    return f"A policy{trained}{after}.{origin}"


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
