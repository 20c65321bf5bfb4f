"""Remote agents: programs on the machines of their owners, which connect to the site."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from gem.client.schemas.base import Answer, Body, Seed, Slug, Visibility
from gem.client.schemas.episodes import Episode
from gem.validation.whole import Whole


class Remote(Answer):
    """A remote agent, and its connection."""

    slug: Slug
    name: str
    socket: str
    """The address that its program connects to, with the token of its owner."""
    seats: int
    """The turns that it is asked for at a time."""
    connected: bool
    since: datetime | None
    """When it connected last; null if it never did."""
    came_from: str
    """The name of the token of its last connection."""
    turn_seconds: float | None
    """How long its last answer took."""
    waiting: int
    """The turns that wait for it or that it is thinking about."""
    url: str
    """The page that shows how it is connected."""


class NewRemote(Body):
    """A remote agent to find by its name, or to create."""

    name: str
    seats: Annotated[Whole, Field(ge=1, le=64)] | None = None
    """The turns that it is asked for at a time; 4 for a new one."""
    visibility: Visibility | None = None
    """The visibility of a new one; by default that of the account."""


class NewChat(Body):
    """An episode that a program plays by chat completions."""

    env_id: str
    seed: Seed | None = None
    """Drawn if it is left out."""
    opponent: Slug | None = None
    """In environments with several seats: the agent in the others; the same agent if it is left out."""
    visibility: Visibility | None = None


class Chat(Answer):
    """An episode that a program plays by chat completions, and how it does."""

    episode: Episode
    base_url: str
    """The address in place of that of a model's server."""
    key: str
    """The API key for it, which is good for this episode alone and shown only now."""
    model: str
    expires: datetime
