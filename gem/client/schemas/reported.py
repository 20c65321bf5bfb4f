"""Evaluations that other programs have made, as they report them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from gem.client.schemas.base import Answer, Id, Visibility


class ReportedEvaluation(Answer):
    """A reported evaluation. Nothing of it is verified, and it ranks nowhere."""

    id: Id
    url: str
    name: str
    model: str
    owner: str
    source: Literal["verifiers", "inspect", "gem", "file"]
    environments: list[str]
    visibility: Visibility
    state: Literal["arriving", "waiting", "reading", "running", "done", "failed", "refused"]
    """A file waits until a worker has read it; `refused` is one that cannot be read."""
    reason: str
    episodes: int
    mean_reward: float | None
    share_solved: float | None
    """Of the episodes of which it is said whether they were solved."""
    errors: int
    metrics: dict[str, float]
    """Results as its program has computed them."""
    config: dict[str, Any]
    created: datetime


class ReportedEvaluationPage(Answer):
    """Reported evaluations, the newest first."""

    items: list[ReportedEvaluation]
    next: str | None = None


class ReportedMessage(Answer):
    """Something that was said in a reported episode."""

    role: str
    content: str = ""
    reasoning: str = ""
    calls: str = ""
    """The tools that were called, as JSON."""


class ReportedEpisode(Answer):
    """A reported episode with its transcript."""

    number: int
    url: str
    example: str
    env_id: str
    reward: float | None
    solved: bool | None
    error: str
    messages: list[ReportedMessage]
    extra: dict[str, Any]


class ReportedEpisodePage(Answer):
    """Episodes of a reported evaluation, in the order of their arrival."""

    items: list[ReportedEpisode]
    next: str | None = None
