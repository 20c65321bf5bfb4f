"""Agents by kind, as forms and job specifications name them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from gem.agents.agent import Agent
from gem.agents.experts import ExpertAgent
from gem.agents.random_agent import RandomAgent
from gem.errors import InvalidArgument

AGENT_KINDS: Mapping[str, Callable[..., Agent]] = {"random": RandomAgent, "expert": ExpertAgent}


def make_agent(kind: str, **settings: Any) -> Agent:
    """The agent of this kind, made with `settings`.

    Raises:
        InvalidArgument: if there is no such kind, or it does not take the settings.
    """
    factory = AGENT_KINDS.get(kind)
    if factory is None:
        near = difflib.get_close_matches(kind, AGENT_KINDS, n=1) or list(AGENT_KINDS)
        raise InvalidArgument(f"There is no agent of kind {kind!r}. Did you mean {' or '.join(near)}?")
    try:
        return factory(**settings)
    except TypeError as error:
        raise InvalidArgument(f"The agent {kind!r} does not take these settings: {error}.") from error
