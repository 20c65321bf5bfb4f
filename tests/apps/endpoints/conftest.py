"""People, a model server, and an agent of somebody's that asks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pytest_django.fixtures import Settings

from tests.model_server import ModelServer, model_server

if TYPE_CHECKING:
    from apps.accounts.models import User
    from apps.agents.models import Agent


@pytest.fixture(autouse=True)
def _keys_of_their_own(settings: Settings, tmp_path: Path) -> None:
    settings.ENDPOINT_KEYS_FILE = tmp_path / "endpoint_keys"
    settings.ENDPOINT_TRIALS_PER_MINUTE = 10_000


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model server on loopback."""
    with model_server() as running:
        yield running


@pytest.fixture
def ada(db: None) -> User:
    """Somebody with an account."""
    from apps.accounts.models import User

    return User.objects.create_user("ada")


@pytest.fixture
def bob(db: None) -> User:
    """Somebody else."""
    from apps.accounts.models import User

    return User.objects.create_user("bob")


@pytest.fixture
def agent_of(ada: User, server: ModelServer) -> Callable[..., Agent]:
    """Store an agent of Ada's that asks that server."""
    from pydantic import SecretStr

    from apps.agents import operations
    from gem.agents.endpoint import EndpointSpec

    def _agent(model: str = "bisect", key: str = "", *, shared: bool = False, **more: Any) -> Agent:
        spec = EndpointSpec(url=server.url, model=model, **{"timeout": 5, "patience": 5, **more})
        return operations.create(ada, f"my {model}", spec, SecretStr(key), visibility="public" if shared else "private")

    return _agent
