"""The webhooks of a person: in the export of the account, without their secrets, and when it is closed."""

from __future__ import annotations

from collections.abc import Iterator

from apps.accounts.models import User
from apps.accounts.personal_data import PersonalData, as_json, as_line
from apps.webhooks.models import Delivery, Webhook
from apps.zips import ExportedFile


def _export(user: User) -> Iterator[ExportedFile]:
    fields = ("id", "url", "events", "disabled", "why_disabled", "created")
    yield ExportedFile("webhooks.json", [as_json(list(Webhook.objects.filter(owner=user).values(*fields)))])
    log = Delivery.objects.filter(webhook__owner=user).order_by("created")
    rows = log.values("id", "webhook", "event", "topic", "key", "seq", "state", "status", "answer", "tried", "created")
    yield ExportedFile("webhook_deliveries.jsonl", (as_line(row) for row in rows.iterator()))


def _stop(user: User) -> None:
    """Delete all webhooks, so that nothing is sent for a closed account."""
    Webhook.objects.filter(owner=user).delete()


PART = PersonalData(export=_export, stop=_stop, goes=("your webhooks and their log",))
