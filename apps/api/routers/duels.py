"""Duels: two to four episodes with the same environment and seed, side by side."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from ninja import Router, Status

from apps.accounts import visitors
from apps.agents.models import Agent
from apps.api import answers
from apps.api.callers import account, manager, player, visitor
from apps.api.forms import Checks
from apps.api.routers.play import verb_of
from apps.duels import operations
from apps.duels.views import STEPS
from apps.episodes.errors import NotFound
from apps.episodes.models import Batch
from apps.play.shows.operations import CannotPlay
from apps.play.starting import limits
from apps.play.starting.forms import EnvironmentField, SeedField
from apps.visibility import Visibility
from gem.client import schemas

router = Router(tags=["duels"])
NOT_AVAILABLE = "This agent is not available. Choose one from the list."


@router.post("", response={201: schemas.Duel}, auth=player)
def start_duel(request: HttpRequest, sent: schemas.NewDuel) -> Status[schemas.Duel]:
    """Start a duel. The agents play at once."""
    user = account(request)
    checks = Checks()
    env_id = checks.value("env_id", EnvironmentField().clean, sent.env_id)
    seed = checks.value("seed", SeedField().clean, sent.seed)
    by_slug = Agent.objects.selectable_by(user).in_bulk(sent.agents, field_name="slug")
    checks.add("agents", [NOT_AVAILABLE for slug in sent.agents if slug not in by_slug][:1])
    checks.finish()
    limits.check_start(request)
    duel = operations.start(
        operations.DuelStart(env_id, seed),
        [by_slug[slug] for slug in sent.agents],
        plays=sent.plays,
        pace=sent.pace,
        lock_step=sent.lock_step,
        user=user,
        visitor="",
        address=visitors.address(request),
        visibility=sent.visibility or "",
    )
    return Status(201, answers.duel(request, duel))


@router.get("/{duel_id}", response=schemas.Duel)
def get_duel(request: HttpRequest, duel_id: str) -> schemas.Duel:
    """A duel with its episodes."""
    return answers.duel(request, _find(request, duel_id))


@router.post("/{duel_id}/agents", response={201: schemas.Duel}, auth=player)
def add_to_duel(request: HttpRequest, duel_id: str, sent: schemas.NewPlayer) -> Status[schemas.Duel]:
    """Let another agent play the same seed. Only the person who started the duel can."""
    duel = _find(request, duel_id)
    if not operations.may_control(duel, request.user, visitor(request)):
        raise PermissionDenied("Only the person who started this duel can add an agent.")
    agent = Agent.objects.selectable_by(request.user).filter(slug=sent.agent).first()
    if agent is None:
        raise CannotPlay("This agent is not available. Nothing was started.")
    limits.check_start(request)
    operations.add(duel, agent, user=request.user, visitor="", address=visitors.address(request))
    return Status(201, answers.duel(request, duel))


@router.post("/{duel_id}/control", response=schemas.Duel, auth=player)
def control_duel(request: HttpRequest, duel_id: str, sent: schemas.Steering) -> schemas.Duel:
    """Pause, resume or stop all agents of a duel, change their pace, or let them keep step."""
    verb = None if sent.do in STEPS else verb_of(sent, account(request))
    duel = _find(request, duel_id)
    if not operations.may_control(duel, request.user, visitor(request)):
        raise PermissionDenied("Only the person who started this duel can control it.")
    if verb is None:
        operations.keep_step(duel, STEPS[sent.do])
    else:
        operations.steer(duel, verb)
    return answers.duel(request, duel)


@router.put("/{duel_id}/visibility", response=schemas.Duel, auth=manager)
def set_visibility_of_duel(request: HttpRequest, duel_id: str, sent: schemas.VisibilityChoice) -> schemas.Duel:
    """Change who may see a duel and all its episodes. Only the people who play or started it can."""
    duel = _find(request, duel_id)
    if not Batch.objects.owned(request.user, visitor(request)).filter(pk=duel.pk).exists():
        raise PermissionDenied("Only the person who started this duel can change who may see it.")
    operations.set_visibility(duel, Visibility(sent.visibility))
    return answers.duel(request, _find(request, duel_id))


def _find(request: HttpRequest, duel_id: str) -> Batch:
    try:
        return operations.find(duel_id, request.user, visitor(request))
    except NotFound as error:
        raise Http404(f"There is no duel {duel_id}. {error}") from error
