"""Creates a player, which chooses actions, from the row of an agent."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from pydantic import ValidationError

from apps.agents.models import Agent, Endpoint, Weights
from apps.agents.seal import CannotUnseal, unseal
from gem.agents import AnyAgent, make_agent
from gem.agents.endpoint import EndpointAgent, EndpointSpec
from gem.agents.endpoint.client import EndpointConnections
from gem.agents.endpoint.ledger import Ledger
from gem.agents.isolated_agent import IsolatedAgent
from gem.errors import AgentStopped
from gem.net.http import AddressGuard


@dataclass(frozen=True, slots=True)
class Place:
    """Where an agent plays, for agents that are told."""

    key: str
    """The id of the live episode or of the job."""
    words: str
    """Such as `live episode` or `job K7F2`."""

    def words_for(self, episode: int) -> str:
        """The words for an episode of a job, by its place in it; -1 for a live episode."""
        return self.words if episode < 0 else f"{self.words}, episode {episode + 1:,}"


NOWHERE = Place("", "")
MAKERS: dict[str, Callable[[Agent, Place], AnyAgent]] = {}
"""What makes the players of kinds that apps above this one have, by kind."""


def player(
    agent: Agent,
    set_up: Mapping[str, Any] | None = None,
    *,
    hosts: EndpointConnections | None = None,
    apart: bool = False,
    ledger: Ledger | None = None,
    side: str = "agent",
    place: Place = NOWHERE,
) -> AnyAgent:
    """Create the player of an agent.

    Args:
        agent: a row of any kind but `human`.
        set_up: the set-up of an endpoint agent when its episode or job began (`Agent.set_up`); None for the current
            one.
        hosts: connections and limits to share with other players in the same event loop. With them, a trained policy
            runs in a process of its own.
        apart: whether a trained policy runs in a process of its own in any case.
        ledger: where an endpoint agent reserves and books its requests, under this `side`.
        place: where it plays.

    Raises:
        AgentStopped: if it is an endpoint agent that was deleted, or whose key cannot be read, or a checkpoint whose
            folder is gone.
        gem.errors.InvalidArgument: if there is no such kind.
    """
    if agent.kind == Agent.Kind.CHECKPOINT:
        return _policy(agent, apart=apart or hosts is not None)
    if agent.kind in MAKERS:
        return MAKERS[agent.kind](agent, place)
    if agent.kind != Agent.Kind.ENDPOINT:
        return make_agent(agent.kind)
    endpoint = Endpoint.objects.filter(agent=agent, agent__retired=False).first()
    if endpoint is None:
        raise AgentStopped(f"{agent.name} was deleted by its owner.")
    set_up_values = {name: value for name, value in (set_up or endpoint.asked).items() if name != "version"}
    try:
        spec = within_limits(EndpointSpec.model_validate({**set_up_values, "url": endpoint.spec["url"]}))
        key = unseal(endpoint.sealed_key)
        return EndpointAgent(spec, key, guard=guard(), connections=hosts, name=agent.name, ledger=ledger, side=side)
    except CannotUnseal as error:
        raise AgentStopped(f"{agent.name} cannot play. {error}") from error
    except ValidationError as error:
        raise AgentStopped(f"The set-up of {agent.name} is no longer valid. Edit it and save it again.") from error


def _policy(agent: Agent, *, apart: bool) -> AnyAgent:
    """A trained policy. With `apart`, or if it was uploaded, it runs in another process: this one loads no torch."""
    weights = Weights.objects.filter(agent=agent).first()
    if weights is None or not weights.path.is_dir():
        raise AgentStopped(f"{agent.name} has no checkpoint yet, or its files are gone.")
    if apart or weights.uploaded:
        return IsolatedAgent(str(weights.path), agent.name, guarded=weights.uploaded)
    return make_agent("policy", path=str(weights.path))


def within_limits(spec: EndpointSpec) -> EndpointSpec:
    """The specification with concurrency and timeouts cut to the limits of this site."""
    limits = {
        "concurrency": min(spec.concurrency, settings.ENDPOINT_CONCURRENCY),
        "patience": min(spec.patience, settings.ENDPOINT_PATIENCE),
        "timeout": min(spec.timeout, settings.ENDPOINT_PATIENCE),
    }
    return spec.model_copy(update=limits)


def guard() -> AddressGuard:
    """The guard for the addresses that endpoint agents may contact on this site.

    On one's own machine, whoever sees the site could ask the servers themselves, so their error messages are shown.
    """
    return _guard(tuple(settings.PRIVATE_ENDPOINTS), settings.LOCAL_MODE)


@functools.cache
def _guard(allow: tuple[str, ...], shows_server_errors: bool) -> AddressGuard:
    return AddressGuard(allow, shows_server_errors=shows_server_errors)
