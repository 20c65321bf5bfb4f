"""Agents: the built-in ones, endpoints, and checkpoints."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponseBase
from ninja import Query, Router, Status
from pydantic import SecretStr

from apps.agents import operations, trials
from apps.agents.checkpoint_views import archive_of
from apps.agents.forms import EndpointForm
from apps.agents.models import Agent, Endpoint
from apps.agents.seal import CannotUnseal
from apps.api import answers
from apps.api.callers import account, manager
from apps.api.forms import Checks
from apps.api.paging import Cursor, Limit, newest_first
from apps.api.problems import Invalid
from apps.names import validate_free_name
from apps.standings.pages import profile_of
from apps.visibility import Visibility
from gem.agents.endpoint import EndpointSpec
from gem.client import schemas

router = Router(tags=["agents"])
trials_router = Router(tags=["agents"])
Kind = Literal["random", "expert", "endpoint", "remote", "checkpoint", "outside"]
NOT_FOUND = "There is no such agent, or it is private."


@router.get("", response=schemas.AgentPage)
def list_agents(
    request: HttpRequest,
    kind: Annotated[Kind | None, Query(None, description="Only agents of this kind.")] = None,
    mine: Annotated[bool, Query(False, description="Only your own agents.")] = False,
    cursor: Cursor = "",
    limit: Limit = 50,
) -> schemas.AgentPage:
    """Agents, the newest first. Single checkpoints of trainings are listed with their training."""
    rows = Agent.objects.named_to(request.user).filter(listed=True).exclude(kind=Agent.Kind.HUMAN)
    if kind is not None:
        rows = rows.filter(kind=kind)
    if mine:
        rows = rows.owned(request.user)
    rows = rows.select_related("owner", "endpoint", "weights")
    page, following = newest_first(rows, cursor, limit, number_keys=True)
    return schemas.AgentPage(items=[answers.agent(request, row) for row in page], next=following)


@router.post("", response={201: schemas.Agent}, auth=manager)
def create_agent(request: HttpRequest, sent: schemas.NewAgent) -> Status[schemas.Agent]:
    """Add an endpoint agent: a model behind an OpenAI-compatible server."""
    checks = Checks()
    name = checks.value("name", name_of_agent, sent.name)
    spec = checks.model("spec", EndpointSpec, sent.spec)
    checks.finish()
    assert spec is not None
    key = SecretStr(sent.key.strip())
    made = operations.create(account(request), name, spec, key, visibility=sent.visibility or "")
    return Status(201, answers.agent(request, _find(request, made.slug)))


@trials_router.post("", response=schemas.Trial, auth=manager)
def try_endpoint(request: HttpRequest, sent: schemas.NewTrial) -> schemas.Trial:
    """Send one message to the server of an endpoint with this specification. Nothing is saved."""
    user = account(request)
    stored = _own_endpoint(request, sent.agent).endpoint if sent.agent else None
    checks = Checks()
    spec = checks.model("spec", EndpointSpec, sent.spec)
    checks.finish()
    assert spec is not None
    trials.check_trial(user)
    try:
        key = trials.key_for(spec, SecretStr(sent.key.strip()), stored)
    except CannotUnseal as error:
        raise Invalid([("key", str(error))]) from error
    return schemas.Trial.model_validate(asdict(trials.try_once(spec, key)))


@router.get("/{slug}", response=schemas.Agent)
def get_agent(request: HttpRequest, slug: str) -> schemas.Agent:
    """One agent. Only its owner sees the address of an endpoint, and nobody sees its key."""
    return answers.agent(request, _find(request, slug))


@router.patch("/{slug}", response=schemas.Agent, auth=manager)
def change_agent(request: HttpRequest, slug: str, sent: schemas.AgentChange) -> schemas.Agent:
    """Change an endpoint agent of your own. Running episodes and jobs keep the set-up that they started with."""
    with transaction.atomic():
        Endpoint.objects.select_for_update().filter(agent=_own_endpoint(request, slug)).first()
        row = _own_endpoint(request, slug)  # what is left out is that of this moment
        checks = Checks()
        is_new_name = sent.name is not None and sent.name != row.name
        name = checks.value("name", name_of_agent, sent.name) if is_new_name else row.name
        spec = checks.model("spec", EndpointSpec, {**row.endpoint.spec, **(sent.spec or {})})
        checks.finish()
        assert spec is not None
        key = SecretStr((sent.key or "").strip())
        operations.change(row, name, spec, key, visibility=sent.visibility or "")
        if sent.key == "":
            operations.forget_key(row)
    return answers.agent(request, _find(request, slug))


@router.delete("/{slug}", response={204: None}, auth=manager)
def delete_agent(request: HttpRequest, slug: str) -> Status[None]:
    """Delete an endpoint agent or an uploaded checkpoint of your own. Its episodes keep its name."""
    row = Agent.objects.deletable_by(account(request)).filter(slug=slug).first()
    if row is None:
        raise Http404(NOT_FOUND)
    operations.delete(row)
    return Status(204, None)


@router.put("/{slug}/visibility", response=schemas.Agent, auth=manager)
def set_visibility_of_agent(request: HttpRequest, slug: str, sent: schemas.VisibilityChoice) -> schemas.Agent:
    """Change who may see an agent of your own. What it has played keeps its own visibility."""
    row = _find(request, slug)
    if row.owner is None or row.owner != request.user:
        raise PermissionDenied("Only the owner of an agent can change who may see it.")
    operations.set_visibility(row, Visibility(sent.visibility))
    return answers.agent(request, _find(request, slug))


@router.get("/{slug}/profile", response=schemas.AgentProfile)
def get_profile(request: HttpRequest, slug: str) -> schemas.AgentProfile:
    """The results of an agent: its newest public evaluations by environment and version, its ranks and its rating."""
    row = _find(request, slug)
    return answers.profile(row, profile_of(request, row))


@router.put("/{slug}/facts", response=schemas.Agent, auth=manager)
def declare_facts(request: HttpRequest, slug: str, sent: schemas.AgentFacts) -> schemas.Agent:
    """Say what an agent of your own is, and whether it plays the daily seed."""
    row = _find(request, slug)
    if row.owner is None or row.owner != request.user:
        raise PermissionDenied("Only the owner of an agent can say what it is.")
    operations.declare(row, operations.Declaration(**sent.model_dump()))
    return answers.agent(request, _find(request, slug))


@router.get("/{slug}/weights.zip", response=bytes, openapi_extra={"x-media-type": "application/zip"})
def download_weights(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Download a checkpoint: weights, configuration, tokenizer and card in one archive."""
    row = Agent.objects.checkpoints().visible_to(request.user).filter(slug=slug).first()
    if row is None:
        raise Http404("There is no such checkpoint, or it is private.")
    return archive_of(request, row)


def name_of_agent(name: str) -> str:
    """The name of an agent, checked as the form does."""
    cleaned: str = EndpointForm.base_fields["name"].clean(name)
    validate_free_name(cleaned)
    return cleaned


def _find(request: HttpRequest, slug: str) -> Agent:
    rows = Agent.objects.filter(retired=False).visible_to(request.user).select_related("owner", "endpoint", "weights")
    row = rows.filter(slug=slug).first()
    if row is None:
        raise Http404(NOT_FOUND)
    return row


def _own_endpoint(request: HttpRequest, slug: str) -> Agent:
    row = Agent.objects.endpoints().filter(slug=slug, owner=account(request)).first()
    if row is None:
        raise Http404(NOT_FOUND)
    return row
