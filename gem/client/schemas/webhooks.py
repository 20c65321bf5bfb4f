"""Webhooks: addresses of the caller's to which the site sends events, and the log of what was sent."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from gem.client.schemas.base import Answer, Body
from gem.validation.whole import Flag

DeliveryState = Literal["waiting", "delivered", "failed", "withheld"]


class Webhook(Answer):
    """A webhook, without its secret."""

    id: int
    url: str
    events: list[str]
    """The names of the events that it sends."""
    disabled: datetime | None
    """Since when it sends nothing; null while it is on."""
    why_disabled: str
    """Why the site turned it off; empty if it did not."""
    failures: int
    """Tries that failed since the last one that succeeded."""
    waiting: int
    """Deliveries that are still to be sent."""
    created: datetime


class Webhooks(Answer):
    """All webhooks of the caller, the oldest first."""

    items: list[Webhook]


class MadeWebhook(Answer):
    """A new webhook with the secret that signs what it sends, which is not shown again."""

    webhook: Webhook
    secret: str


class NewWebhook(Body):
    """A webhook to add."""

    url: str
    events: list[str] = ["job.ended", "training.ended"]


class WebhookChange(Body):
    """A change of a webhook; fields that are left out stay as they are."""

    url: str | None = None
    events: list[str] | None = None
    on: Flag | None = None
    """Turn it on or off."""


class Delivery(Answer):
    """An event that is owed to a webhook, or was sent."""

    id: str
    """The `webhook-id`, which stays the same however often it is sent."""
    event: str
    topic: Literal["job", "episode", "duel", "webhook"]
    """The subject of the event: a job or a training, an episode, a duel, or the webhook itself in a test."""
    key: str
    """The id of what it is about."""
    seq: int
    """The `seq` of the event."""
    state: DeliveryState
    """`withheld` if its owner may no longer see what it is about."""
    tries: int
    status: int | None
    """The status of the last answer; null if there was none."""
    answer: str
    """The beginning of the last answer, or why there was none."""
    seconds: float | None
    """How long the last try took."""
    tried: datetime | None
    due: datetime | None
    """When it is tried next; null unless it waits."""
    created: datetime


class DeliveryPage(Answer):
    """Deliveries of a webhook, the newest first."""

    items: list[Delivery]
    next: str | None
