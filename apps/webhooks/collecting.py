"""Which events are owed to whom: read from the jobs, as streams of events are, and written down as deliveries.

Nothing is noted when an event happens. A webhook knows how far it has read each job (`Place`), so one that could not
be served for a while misses nothing, and no event gets two deliveries.
"""

from __future__ import annotations

import json
import logging
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from apps.jobs.models import Job
from apps.live.feed import Message
from apps.live.streams import STREAMS
from apps.webhooks.models import Delivery, Place, Webhook

logger = logging.getLogger(__name__)

MAX_WAITING = 500
"""Deliveries of one webhook that wait. While there are so many, no further events are read; none is lost."""
MAX_JOBS = 50
"""Jobs of one webhook that are read at once."""
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
    for job_id, seq in _changed_jobs(webhook):
        if number >= room:
            break
        number += _read(webhook, job_id, seq)
    return number


def _changed_jobs(webhook: Webhook) -> list[tuple[str, int]]:
    """Jobs of the owner with changes that the webhook has not read, and the `seq` up to which it has read each."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT job.id, coalesce(place.seq, 0) FROM jobs_job job
            LEFT JOIN webhooks_place place ON place.webhook_id = %s AND place.job = job.id
            WHERE job.owner_id = %s AND job.seq > coalesce(place.seq, 0)
            ORDER BY job.created LIMIT %s
            """,
            [webhook.pk, webhook.owner_id, MAX_JOBS],
        )
        return [(row[0], row[1]) for row in cursor.fetchall()]


def _read(webhook: Webhook, job_id: str, seq: int) -> int:
    """Write down the events of a job after `seq`, as many as are read at once; those that its owner may see."""
    stream = STREAMS["job"]
    audience = stream.audience_of(job_id, webhook.owner, "")
    reading = stream.read(job_id, seq, audience)
    messages: list[Message] = []
    if Job.objects.visible_to(webhook.owner).filter(pk=job_id).exists():
        messages = [message for message in reading.messages if message.name in webhook.events]
    now = timezone.now()
    deliveries = [
        Delivery(webhook=webhook, event=message.name, job=job_id, seq=message.seq, body=bounded(message.text), due=now)
        for message in messages
    ]
    Delivery.objects.bulk_create(deliveries, ignore_conflicts=True)
    Place.objects.update_or_create(webhook=webhook, job=job_id, defaults={"seq": max(reading.upto, seq)})
    return len(deliveries)


def bounded(body: str) -> str:
    """The event as it is sent. One that is too large loses the contents of its lists and the end of its text."""
    if len(body.encode()) <= MAX_BODY_BYTES:
        return body
    event: dict[str, Any] = json.loads(body)
    small = {name: [] if isinstance(value, list) else value for name, value in event.items()}
    text = {name: str(small[name])[:MAX_TEXT_CHARACTERS] for name in ("text", "reason") if small.get(name)}
    return json.dumps({**small, **text, "shortened": True})
