"""The operations of people on their agents: create, change and delete. `uploads` has the uploads of checkpoints."""

from __future__ import annotations

import secrets
import shutil
from dataclasses import dataclass

from django.db import transaction
from django.db.models import ProtectedError, Q
from django.utils.text import slugify
from pydantic import SecretStr

from apps.accounts import quotas
from apps.accounts.models import User
from apps.agents.models import Agent, Endpoint, Weights
from apps.agents.seal import seal
from apps.visibility import Visibility
from gem.agents.endpoint import EndpointSpec
from gem.net.http import origin

COLOURS = (1, 4, 5, 6, 7)
"""The colours of new agents, in turn. The others belong to built-in agents."""
SLUG_LENGTH = 40


class TooManyAgents(Exception):
    """The person has as many agents of this kind as one person may have. The message is a sentence for them."""


@transaction.atomic
def create(owner: User, name: str, spec: EndpointSpec, key: SecretStr | None = None, *, visibility: str = "") -> Agent:
    """Create an endpoint agent of `owner`, by default with the visibility that their account says.

    Raises:
        TooManyAgents: if they have as many as one person may have.
    """
    agent = add(owner, name, Agent.Kind.ENDPOINT, visibility)
    Endpoint.objects.create(agent=agent, spec=spec.model_dump(mode="json"), sealed_key=seal(key or SecretStr("")))
    return agent


def add(owner: User, name: str, kind: Agent.Kind, visibility: str = "") -> Agent:
    """Add the row of an agent that is asked over a network; the caller adds what belongs to its kind.

    Call it in a transaction.

    Raises:
        TooManyAgents: if the person has as many as one person may have.
    """
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # so that concurrent calls count each other
    if problem := quotas.refusal(owner, quotas.ENDPOINTS):
        raise TooManyAgents(problem)
    colour = COLOURS[Agent.objects.count() % len(COLOURS)]
    visibility = visibility or owner.agent_visibility
    return Agent.objects.create(
        slug=new_slug(name), name=name, kind=kind, owner=owner, colour=colour, visibility=visibility
    )


def outside(owner: User, name: str, declared: str) -> Agent:
    """The agent of `owner` that has this name and has played elsewhere; it is made if there is none yet.

    Call it in a transaction. Whoever can see a row or an episode of it sees its name.
    """
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # so that concurrent calls make one
    kind = Agent.Kind.OUTSIDE
    found = Agent.objects.filter(owner=owner, kind=kind, name=name, declared_nature=declared, retired=False).first()
    if found is not None:
        return found
    colour = COLOURS[Agent.objects.count() % len(COLOURS)]
    return Agent.objects.create(
        slug=new_slug(name),
        name=name,
        kind=kind,
        declared_nature=declared,
        owner=owner,
        colour=colour,
        listed=False,
        visibility=owner.agent_visibility,
    )


@transaction.atomic
def change(agent: Agent, name: str, spec: EndpointSpec, key: SecretStr | None = None, *, visibility: str = "") -> Agent:
    """Change the set-up of an endpoint agent. Running episodes and jobs keep the set-up that they started with.

    Without a `key` the stored one is kept, unless the address names another server, because a key belongs to one.
    Without a `visibility` the present one stays, also if it has changed since `agent` was read.
    """
    endpoint = Endpoint.objects.select_for_update().get(agent=agent)
    before = EndpointSpec.model_validate(endpoint.spec)
    if key is not None and key.get_secret_value():
        endpoint.sealed_key = seal(key)
    elif origin(before.url) != origin(spec.url):
        endpoint.sealed_key = ""
    endpoint.version += before.digest != spec.digest
    endpoint.spec = spec.model_dump(mode="json")
    endpoint.save()
    agent.name = name
    agent.save(update_fields=["name"])
    if visibility:
        set_visibility(agent, Visibility(visibility))
    agent.refresh_from_db(fields=["visibility"])
    return agent


def set_visibility(agent: Agent, visibility: Visibility) -> None:
    """Change who may see an agent. What it has played keeps its own visibility."""
    Agent.objects.filter(pk=agent.pk).update(visibility=visibility)


@dataclass(frozen=True, slots=True)
class Declaration:
    """What the owner of an agent says about it."""

    nature: str = ""
    """One of `Agent.Nature`; empty for a model. Only of endpoints: what other agents are follows from their kind."""
    parameters: int | None = None
    """Of endpoints: the number of parameters of the model. That of a checkpoint is counted."""
    openness: str = ""
    """One of `Agent.Openness`, of endpoints."""
    plays_daily: bool = False


def declare(agent: Agent, said: Declaration) -> None:
    """Store what the owner of an agent says about it."""
    agent.plays_daily = said.plays_daily
    if agent.is_asked:
        agent.declared_nature, agent.parameters, agent.openness = said.nature, said.parameters, said.openness
    agent.save(update_fields=["plays_daily", "declared_nature", "parameters", "openness"])


def forget_key(agent: Agent) -> None:
    """Delete the stored key."""
    Endpoint.objects.filter(agent=agent).update(sealed_key="")


def delete(agent: Agent) -> None:
    """Delete an agent with its key and set-up, or with its uploaded weights.

    Its name stays if it has played. Do not use this for agents of trainings, whose weights belong to the job.
    """
    weights = Weights.objects.filter(agent=agent, uploaded=True).first()
    try:
        with transaction.atomic():
            agent.delete()
    except ProtectedError:
        with transaction.atomic():
            Weights.objects.filter(agent=agent, uploaded=True).delete()
            retire(agent.pk)
    if weights is not None:
        shutil.rmtree(weights.path, ignore_errors=True)


@transaction.atomic
def retire(agent_id: int) -> None:
    """Let an agent play nothing from now on, and delete its key and set-up. Its episodes and its row stay."""
    Endpoint.objects.filter(agent=agent_id).delete()
    Agent.objects.filter(pk=agent_id).update(retired=True, visibility=Visibility.PRIVATE)


@transaction.atomic
def make_nameless(agent: Agent, owner: User, slug: str) -> None:
    """Leave of a deleted agent only what its episodes need: a row of `owner` that says nothing about it.

    Replays need the actions and nothing of the agent, so its set-up goes from the jobs and episodes of others too.
    """
    retire(agent.pk)
    Weights.objects.filter(agent=agent).delete()
    agent.seats.filter(set_up__isnull=False).update(set_up=None)
    for job in agent.jobs.model.objects.filter(Q(agent=agent) | Q(spec__opponent=agent.slug)):
        for role in ("agent", "opponent"):
            if job.spec.get(role) == agent.slug:  # which was made from its name
                job.spec[role] = slug
        if job.agent_id == agent.pk:
            job.set_up = None
        job.save(update_fields=["spec", "set_up"])
    Agent.objects.filter(pk=agent.pk).update(name="deleted agent", slug=slug, about="", owner=owner)


def new_slug(name: str) -> str:
    """A slug with a random suffix, so that it is free and does not reveal whether others have this name."""
    base = slugify(name).replace("_", "-")[:SLUG_LENGTH].strip("-") or "endpoint"
    return f"{base}-{secrets.token_hex(3)}"
