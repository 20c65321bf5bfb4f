"""Webhooks: addresses to which the site sends the events of the account."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from gem.client.request import NOTHING, Pages, Request, Resource, iterates, sends
from gem.client.resources.following import place
from gem.client.schemas import (
    Delivery,
    DeliveryPage,
    DeliveryState,
    MadeWebhook,
    NewWebhook,
    Webhook,
    WebhookChange,
    Webhooks,
)

R_co = TypeVar("R_co", covariant=True)


class WebhooksResource(Resource[R_co]):
    """The webhooks of the account, and the log of what they sent."""

    @sends
    def list(self) -> Request[Webhooks]:
        """Return all webhooks of the account, without their secrets."""
        return Request("GET", "webhooks", Webhooks)

    @sends
    def create(self, url: str, events: Sequence[str] | None = None) -> Request[MadeWebhook]:
        """Add a webhook, and return it with its secret, which is not shown again. It is not repeated if it fails.

        Args:
            events: the names of the events that it sends; by default the ends of evaluations and trainings.
        """
        content = NewWebhook(url=url) if events is None else NewWebhook(url=url, events=[*events])
        return Request("POST", "webhooks", MadeWebhook, content=content)

    @sends
    def get(self, webhook_id: int) -> Request[Webhook]:
        """Return one webhook."""
        return Request("GET", place("webhooks", str(webhook_id)), Webhook)

    @sends
    def change(
        self, webhook_id: int, *, url: str | None = None, events: Sequence[str] | None = None, on: bool | None = None
    ) -> Request[Webhook]:
        """Change the address or the events of a webhook, or turn it on or off. What is left out stays."""
        content = WebhookChange(url=url, events=None if events is None else [*events], on=on)
        return Request("PATCH", place("webhooks", str(webhook_id)), Webhook, content=content, keyed=True)

    @sends
    def delete(self, webhook_id: int) -> Request[None]:
        """Delete a webhook with the log of its deliveries."""
        return Request("DELETE", place("webhooks", str(webhook_id)), NOTHING)

    @sends
    def test(self, webhook_id: int) -> Request[Delivery]:
        """Send the event `webhook.test` once; `delivery` says some seconds later what became of it."""
        return Request("POST", f"{place('webhooks', str(webhook_id))}/test", Delivery, keyed=True)

    @iterates
    def deliveries(
        self, webhook_id: int, *, state: DeliveryState | None = None, most: int | None = None
    ) -> Pages[Delivery]:
        """Iterate over the log of a webhook, the newest delivery first."""
        return Pages(
            Request("GET", f"{place('webhooks', str(webhook_id))}/deliveries", DeliveryPage, {"state": state}), most
        )

    @sends
    def delivery(self, webhook_id: int, delivery_id: str) -> Request[Delivery]:
        """Return one delivery."""
        return Request("GET", _delivery(webhook_id, delivery_id), Delivery)

    @sends
    def send_again(self, webhook_id: int, delivery_id: str) -> Request[Delivery]:
        """Send a delivery again, whatever became of it, with the same id and body."""
        return Request("POST", f"{_delivery(webhook_id, delivery_id)}/send-again", Delivery, keyed=True)


def _delivery(webhook_id: int, delivery_id: str) -> str:
    return f"{place('webhooks', str(webhook_id))}/{place('deliveries', delivery_id)}"
