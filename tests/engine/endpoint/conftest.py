"""A model server for each test, and agents that ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gem.agents.endpoint import EndpointAgent, EndpointSpec
from tests.model_server import ModelServer, model_server

QUICK: dict[str, Any] = {"timeout": 1.0, "tries": 2, "patience": 2.0}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server on loopback that has every fault on request."""
    with model_server() as running:
        yield running


@pytest.fixture
def agent_of(server: ModelServer) -> Callable[..., EndpointAgent]:
    """An agent of a model of that server."""

    def _agent(model: str, key: str | None = None, **more: Any) -> EndpointAgent:
        return EndpointAgent(EndpointSpec(url=server.url, model=model, **{**QUICK, **more}), key)

    return _agent
