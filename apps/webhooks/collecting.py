"""Which events are owed to whom: read from rows, as streams of events are, and written down as deliveries.

Nothing is noted when an event happens. A webhook knows how far it has read each job, episode and duel (`Place`), so one
that could not be served for a while misses nothing, and no event gets two deliveries.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.live.feed import Message
from apps.live.streams import STREAMS
from apps.webhooks.models import Delivery, Place, Webhook
from apps.webhooks.sources import SOURCES, Source

logger = logging.getLogger(__name__)

MAX_WAITING = 500
"""Deliveries of one webhook that wait. While there are so many, no further events are read; none is lost."""
MAX_ROWS = 50
"""Rows of one kind that are read at once for one webhook."""
MAX_BODY_BYTES = 64 * 1024
"""A larger event is sent without its lists."""
MAX_TEXT_CHARACTERS = 1000


def collect() -> int:
    """Write down what is owed to all webhooks. Returns the number of new deliveries.

    Webhooks that another process reads are left to it.
    """
    number = 0
    for key in list(Webhook.objects.filter(disabled=None, owner__is_active=True).values_list("pk", flat=True)):
        try:
            number += _collect_for(key)
        except Exception:  # whatever is wrong with one webhook must not keep the others waiting
            logger.exception("webhook %s: its events cannot be read", key)
    return number


@transaction.atomic
def _collect_for(key: int) -> int:
    webhook = Webhook.objects.select_for_update(skip_locked=True, of=("self",)).filter(pk=key, disabled=None).first()
    if webhook is None:
        return 0
    room = MAX_WAITING - Delivery.objects.filter(webhook=webhook, state=Delivery.State.WAITING).count()
    number = 0
    for source in SOURCES.values():
        if not source.is_chosen(webhook.events):
            continue
        for row, seq in source.changed(webhook, MAX_ROWS):
            if number >= room:
                return number
            number += _read(webhook, source, row, seq)
    return number


def _read(webhook: Webhook, source: Source, key: str, seq: int) -> int:
    """Write down the events of a row after `seq`, as many as are read at once; those that its owner may see."""
    stream = STREAMS[source.topic]
    audience = stream.audience_of(key, webhook.owner, "")
    reading = stream.read(key, seq, audience)
    messages: list[Message] = []
    if source.visible(webhook.owner, [key]):
        messages = [message for message in reading.messages if message.name in webhook.events]
    now = timezone.now()
    deliveries = [
        Delivery(
            webhook=webhook,
            event=message.name,
            topic=source.topic,
            key=key,
            seq=message.seq,
            body=bounded(message.text),
            due=now,
        )
        for message in messages
    ]
    Delivery.objects.bulk_create(deliveries, ignore_conflicts=True)
    read = {"seq": max(reading.upto, seq, 0), "is_over": reading.is_over and reading.upto >= reading.top}
    Place.objects.update_or_create(webhook=webhook, topic=source.topic, key=key, defaults=read)
    return len(deliveries)


def bounded(body: str) -> str:
    """The event as it is sent. One that is too large loses the contents of its lists and the end of its text."""
    if len(body.encode()) <= MAX_BODY_BYTES:
        return body
    event: dict[str, Any] = json.loads(body)
    small = {name: [] if isinstance(value, list) else value for name, value in event.items()}
    text = {name: str(small[name])[:MAX_TEXT_CHARACTERS] for name in ("text", "reason") if small.get(name)}
    return json.dumps({**small, **text, "shortened": True})
