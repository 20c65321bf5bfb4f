"""Environments, agents, and uploads of checkpoints."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from gem.client.schemas.base import Answer, Body, Slug, Visibility


class Baseline(Answer):
    """A measured result of a built-in agent in an environment."""

    agent: str
    episodes: int
    mean_return: float
    success_rate: float


class Environment(Answer):
    """A registered environment."""

    id: str
    version: int
    family: str
    category: str
    difficulty: str
    summary: str
    seats: int
    turn_limit: int | None
    """The maximal number of turns; null if every episode draws it, 0 if there is no limit."""
    tools: list[str]
    replay: Literal["exact", "taped", "none"]
    cost: str
    has_expert: bool
    arguments: dict[str, str]
    missing: list[str]
    """Packages and other requirements that this site lacks."""
    baselines: list[Baseline]
    url: str
    """Its page."""


class EnvironmentPage(Answer):
    """Environments of the catalog."""

    items: list[Environment]
    next: str | None = None


class Agent(Answer):
    """An agent, which acts in a seat."""

    slug: str
    name: str
    kind: Literal["human", "random", "expert", "endpoint", "remote", "checkpoint", "outside"]
    about: str
    owner: str | None
    """The name of the account; null for built-in agents."""
    mine: bool
    visibility: Visibility
    set_up: dict[str, Any] | None = None
    """Of an endpoint: the model, the prompt and the sampling, without its address and key."""
    endpoint_url: str | None = None
    """Of an endpoint of your own: its address."""
    has_key: bool | None = None
    """Of an endpoint of your own: whether a key is stored."""
    card: dict[str, Any] | None = None
    """Of a checkpoint: its environment, recipe, number of updates and settings."""
    size: int | None = None
    """Of a checkpoint: the size of its weights in bytes."""
    sha256: str | None = None
    """Of a checkpoint: the SHA-256 digest of its weights."""
    nature: Literal["model", "program", "person"] = "model"
    """Whether a model, a program or a person acts; of an endpoint, this is its owner's claim."""
    parameters: int | None = None
    """The number of parameters of its model, if it is known."""
    open_weights: bool | None = None
    """Whether everybody can have its weights; null if nobody said, or if it has none."""
    plays_daily: bool = False
    """Whether it plays the daily seed."""
    created: datetime
    url: str | None
    """Its page, if it has one."""


class AgentPage(Answer):
    """Agents."""

    items: list[Agent]
    next: str | None = None


class NewAgent(Body):
    """An endpoint agent to create."""

    name: str
    spec: dict[str, Any]
    """A `gem.agents.endpoint.EndpointSpec`: at least `url` and `model`."""
    key: str = Field(default="", max_length=2000)
    """The API key of the server, which is stored encrypted and never shown."""
    visibility: Visibility | None = None


class NewTrial(Body):
    """A message to the server of an endpoint."""

    spec: dict[str, Any]
    """A `gem.agents.endpoint.EndpointSpec`: at least `url` and `model`."""
    key: str = Field(default="", max_length=2000)
    """The API key of the server, which is not stored."""
    agent: Slug | None = None
    """An agent of your own, whose stored key is sent if `key` is empty and `spec` names the same server."""


class Trial(Answer):
    """The answer of an endpoint's server to a test message."""

    sentence: str
    """Why the answer cannot be used; empty if it can."""
    status: int
    """The HTTP status; 0 if the server was not reached."""
    seconds: float
    text: str
    reasoning: str
    model: str
    finish: str
    """Why the model stopped."""
    tokens_in: int
    tokens_out: int


class AgentChange(Body):
    """A change of an endpoint agent or an uploaded checkpoint; fields that are left out stay as they are."""

    name: str | None = None
    spec: dict[str, Any] | None = None
    """Fields of the set-up. The others keep their values."""
    key: str | None = Field(default=None, max_length=2000)
    """A new key; an empty string deletes the stored one."""
    visibility: Visibility | None = None


class Upload(Answer):
    """An uploaded checkpoint. A worker checks it, and then it is an agent with the same slug."""

    slug: str
    name: str
    state: Literal["waiting", "refused", "accepted"]
    problem: str
    """Why it was refused."""
    place: int | None
    """Its place in the queue, from 1."""
    created: datetime


class UploadPage(Answer):
    """Uploads that are no agents yet."""

    items: list[Upload]
    next: str | None = None
