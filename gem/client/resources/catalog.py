"""Environments, agents and uploads of checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from gem.client.request import Pages, Request, Resource, iterates, sends
from gem.client.schemas import (
    Agent,
    AgentChange,
    AgentPage,
    Environment,
    EnvironmentPage,
    NewAgent,
    Upload,
    UploadPage,
    VisibilityChoice,
)
from gem.client.schemas.base import Visibility

R_co = TypeVar("R_co", covariant=True)


class Environments(Resource[R_co]):
    """The catalog of environments."""

    @iterates
    def list(self, q: str = "", *, most: int | None = None) -> Pages[Environment]:
        """Iterate over the environments that match the search, in the order of the catalog."""
        return Pages(Request("GET", "environments", EnvironmentPage, {"q": q or None}), most)

    @sends
    def get(self, env_id: str) -> Request[Environment]:
        """Return one environment."""
        return Request("GET", f"environments/{quote(env_id, safe=':')}", Environment)
