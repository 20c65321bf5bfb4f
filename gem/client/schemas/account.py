"""The account of the caller: who they are, their quotas and their tokens."""

from __future__ import annotations

from datetime import datetime

from gem.client.schemas.base import Answer, Body, Visibility


class Token(Answer):
    """An API token, without its secret."""

    id: int
    name: str
    hint: str
    """The first characters of the token, by which its owner recognizes it."""
    scopes: list[str]
    created: datetime
    expires: datetime | None
    last_used: datetime | None


class Account(Answer):
    """The caller."""

    name: str
    staff: bool
    default_visibility: Visibility
    """The visibility of what they begin without choosing one."""
    agent_visibility: Visibility
    """The visibility of the agents that they add without choosing one."""
    token: Token | None
    """The token of this request; null in a browser."""


class DefaultVisibility(Body):
    """The visibility of what a person begins and adds without choosing one; what is left out stays."""

    default_visibility: Visibility | None = None
    """Of episodes, duels, jobs and trainings."""
    agent_visibility: Visibility | None = None
    """Of agents."""


class QuotaUse(Answer):
    """How much of something a person uses now."""

    name: str
    title: str
    unit: str
    used: float
    limit: int | None
    """Null if there is no limit."""
    at_limit: str
    """The consequence of reaching the limit, as a sentence."""


class Quotas(Answer):
    """All quotas of the caller."""

    items: list[QuotaUse]


class Tokens(Answer):
    """The API tokens of the caller, the newest first."""

    items: list[Token]
