"""The fields that all events have, and those that the events of jobs and trainings share."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from gem.client.schemas.base import Answer


class Event(Answer):
    """The fields that all events have."""

    event: str
    """The name of the event."""
    seq: int
    """The number of the change, which is the `id` of the event in a stream: a reader continues after it."""
    at: datetime | None = None
    """When it happened; null if that is not known."""


class UnknownEvent(Event):
    """An event of a later version, with the fields that all events have."""


class LogEvent(Event):
    """An event of a job or a training. Each is a line of its log."""

    text: str
    """The line, for people."""
    tone: Literal["", "warn", "loss"] = ""
    """`warn` and `loss` mark what one should look at."""


class Queued(Answer):
    """A job was submitted."""

    env_ids: list[str]
    agent: str
    """The slug of the agent that plays, or that a training creates."""
    episodes_total: int


class Reasoned(Answer):
    """Something that happened to a shard, with the reason."""

    reason: str = ""
    """Why; empty if nobody needs to know."""
