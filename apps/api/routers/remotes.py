"""Remote agents: programs on the machines of their owners, which connect, or play one episode as chats."""

from __future__ import annotations

from django.http import Http404, HttpRequest
from django.urls import reverse
from ninja import Router, Status

from apps.agents.models import Agent
from apps.api import answers
from apps.api.answers.values import link
from apps.api.callers import account, manager, player, reader
from apps.api.forms import Checks, checked, entries
from apps.api.routers.agents import name_of_agent
from apps.play.starting import limits
from apps.play.starting.forms import WatchForm
from apps.remote import operations
from apps.remote.models import Question, Remote
from apps.remote.operations import MODEL
from gem.client import schemas

router = Router(tags=["agents"])
NOT_FOUND = "You have no remote agent with this name."


@router.post("", response={200: schemas.Remote, 201: schemas.Remote}, auth=manager)
def add_remote(request: HttpRequest, sent: schemas.NewRemote) -> Status[schemas.Remote]:
    """Find your remote agent of this name, or create it: a program of yours that connects to the site."""
    checks = Checks()
    name = checks.value("name", name_of_agent, sent.name)
    checks.finish()
    agent, is_new = operations.find_or_create(
        account(request), name, seats=sent.seats, visibility=sent.visibility or ""
    )
    return Status(201 if is_new else 200, _answer(request, agent))


@router.get("/{slug}", response=schemas.Remote, auth=reader)
def get_remote(request: HttpRequest, slug: str) -> schemas.Remote:
    """A remote agent of yours, and whether it is connected."""
    return _answer(request, _find(request, slug))


@router.post("/{slug}/chats", response={201: schemas.Chat}, auth=player)
def begin_chat(request: HttpRequest, slug: str, sent: schemas.NewChat) -> Status[schemas.Chat]:
    """Begin an episode that a program plays by chat completions, as if this site were a model."""
    agent = _find(request, slug)
    form = checked(WatchForm(account(request), entries({**sent.model_dump(), "agent": agent.slug})))
    limits.check_start(request)
    chosen = form.cleaned_data
    begun = operations.begin_chat(
        agent,
        chosen["env_id"],
        user=account(request),
        seed=chosen["seed"],
        opponent=chosen["opponent"],
        visibility=chosen["visibility"],
    )
    return Status(
        201,
        schemas.Chat(
            episode=answers.episode(request, begun.episode.pk),
            base_url=link(request, begun.path),
            key=begun.secret,
            model=MODEL,
            expires=begun.key.expires,
        ),
    )


def _find(request: HttpRequest, slug: str) -> Agent:
    agent = Agent.objects.remotes().filter(slug=slug, owner=account(request)).first()
    if agent is None:
        raise Http404(NOT_FOUND)
    return agent


def _answer(request: HttpRequest, agent: Agent) -> schemas.Remote:
    remote = Remote.objects.get(agent=agent)
    page = link(request, reverse("connect:agent", args=[agent.slug]))
    return schemas.Remote(
        slug=agent.slug,
        name=agent.name,
        socket=link(request, remote.path).replace("http", "ws", 1),
        seats=remote.seats,
        connected=remote.is_connected,
        since=remote.since,
        came_from=remote.came_from,
        turn_seconds=remote.turn_seconds,
        waiting=Question.objects.filter(agent=agent).awaited().unanswered().count(),
        url=page,
    )
