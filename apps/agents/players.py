"""From an agent's row to somebody who can be asked."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from pydantic import ValidationError

from apps.agents.models import Agent, Endpoint, Weights
from apps.agents.seal import CannotUnseal, unseal
from gem.agents import Player, make_agent
from gem.agents.apart import ApartAgent
from gem.agents.endpoint import EndpointAgent, EndpointSpec
from gem.agents.endpoint.server import Hosts
from gem.errors import AgentStopped
from gem.net.http import Guard


def player(agent: Agent, set_up: Mapping[str, Any] | None = None, *, hosts: Hosts | None = None) -> Player:
    """Somebody who decides as `agent` does.

    Args:
        agent: a row of any kind but `human`.
        set_up: how an endpoint agent was set up when it began to play (`Agent.set_up`); as it is now, without one.
        hosts: connections and limits to share with others in the same event loop, where a trained policy thinks in a
            process of its own.

    Raises:
        AgentStopped: if it is an endpoint agent that was deleted, or whose key cannot be read, or a checkpoint whose
            folder is gone.
        gem.errors.InvalidArgument: if there is no such kind.
    """
    if agent.kind == Agent.Kind.CHECKPOINT:
        return _policy(agent, apart=hosts is not None)
    if agent.kind != Agent.Kind.ENDPOINT:
        return make_agent(agent.kind)
    endpoint = Endpoint.objects.filter(agent=agent, agent__retired=False).first()
    if endpoint is None:
        raise AgentStopped(f"{agent.name} was deleted by its owner.")
    asked = {name: value for name, value in (set_up or endpoint.asked).items() if name != "version"}
    try:
        spec = within_limits(EndpointSpec.model_validate({**asked, "url": endpoint.spec["url"]}))
        return EndpointAgent(spec, unseal(endpoint.sealed_key), guard=guard(), hosts=hosts, name=agent.name)
    except CannotUnseal as error:
        raise AgentStopped(f"{agent.name} cannot play. {error}") from error
    except ValidationError as error:
        raise AgentStopped(f"The set-up of {agent.name} is no longer valid. Edit it and save it again.") from error


def _policy(agent: Agent, *, apart: bool) -> Player:
    """A trained policy; `apart` in another process, for whoever must not load torch. Uploaded ones always are."""
    weights = Weights.objects.filter(agent=agent).first()
    if weights is None or not weights.path.is_dir():
        raise AgentStopped(f"{agent.name} has no checkpoint yet, or its files are gone.")
    if apart or weights.uploaded:
        return ApartAgent(str(weights.path), agent.name, guarded=weights.uploaded)
    return make_agent("policy", path=str(weights.path))


def within_limits(spec: EndpointSpec) -> EndpointSpec:
    """The specification as far as this site goes along with it."""
    limits = {
        "concurrency": min(spec.concurrency, settings.ENDPOINT_CONCURRENCY),
        "patience": min(spec.patience, settings.ENDPOINT_PATIENCE),
        "timeout": min(spec.timeout, settings.ENDPOINT_PATIENCE),
    }
    return spec.model_copy(update=limits)


def guard() -> Guard:
    """Which addresses endpoint agents may ask on this site."""
    return _guard(tuple(settings.PRIVATE_ENDPOINTS))


@functools.cache
def _guard(allow: tuple[str, ...]) -> Guard:
    return Guard(allow)
