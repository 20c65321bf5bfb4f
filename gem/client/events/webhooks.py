"""The events of webhooks themselves."""

from __future__ import annotations

from typing import Literal

from gem.client.events.base import Event


class WebhookTest(Event):
    """Somebody tries a webhook; nothing else has happened."""

    event: Literal["webhook.test"] = "webhook.test"
    webhook: int
    """The number of the webhook."""
