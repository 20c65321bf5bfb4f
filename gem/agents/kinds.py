"""Making agents by their kind, which is how forms and job specifications name them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from gem.agents.agent import Agent
from gem.agents.experts import ExpertAgent
from gem.agents.random_agent import RandomAgent
from gem.errors import InvalidArgument
from gem.validation.dependencies import ENDPOINT_PACKAGES, TRAINING_PACKAGES, require_installed
from gem.validation.messages import error_sentence
from gem.validation.near import did_you_mean


def _endpoint(**settings: Any) -> Agent:
    """Make an endpoint agent. Its module is imported here, because it is slow to import and needs further packages.

    Args:
        settings: the fields of an `EndpointSpec`, and `key`.
    """
    require_installed("The agent 'endpoint'", ENDPOINT_PACKAGES)
    from pydantic import ValidationError  # noqa: PLC0415

    from gem.agents.endpoint import EndpointAgent, EndpointSpec  # noqa: PLC0415

    key = settings.pop("key", None)
    try:
        return EndpointAgent(EndpointSpec.model_validate(settings), key)
    except ValidationError as error:
        raise InvalidArgument(error_sentence(error, EndpointSpec)) from error


def _policy(**settings: Any) -> Agent:
    """Make a `PolicyAgent`. Its module is imported here by name, so that importing agents does not import torch."""
    require_installed("The agent 'policy'", TRAINING_PACKAGES)
    agent: Agent = importlib.import_module("gem.training.policy.policy_agent").PolicyAgent(**settings)
    return agent


AGENT_KINDS: Mapping[str, Callable[..., Agent]] = {
    "random": RandomAgent,
    "expert": ExpertAgent,
    "endpoint": _endpoint,
    "policy": _policy,
}
"""The kind of an agent to the function that makes one."""


def make_agent(kind: str, **settings: Any) -> Agent:
    """Make an agent of this kind with `settings`.

    Raises:
        InvalidArgument: if there is no such kind, or it does not take the settings.
        MissingDependency: if it needs a package that is not installed.
    """
    factory = AGENT_KINDS.get(kind)
    if factory is None:
        raise InvalidArgument(f"There is no agent of kind {kind!r}. {did_you_mean(kind, AGENT_KINDS)}")
    try:
        return factory(**settings)
    except TypeError as error:
        reason = str(error).rpartition("() ")[2]  # without the name of the function, which nobody has called
        raise InvalidArgument(f"The agent {kind!r} does not take these settings: {reason}.") from error
