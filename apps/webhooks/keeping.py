"""How long the log of deliveries is kept."""

from __future__ import annotations

from datetime import timedelta

from django.db import connection
from django.utils import timezone

from apps.webhooks import sources
from apps.webhooks.models import Delivery

KEPT = timedelta(days=30)
MOST_KEPT = 1000
"""Deliveries of one webhook that are kept, besides those that wait."""


def forget_old() -> int:
    """Delete deliveries that are over and old, or that are not among the newest. Returns their number."""
    sources.forget()
    over = Delivery.objects.exclude(state=Delivery.State.WAITING)
    number, _ = over.filter(created__lt=timezone.now() - KEPT).delete()
    with connection.cursor() as cursor:
        cursor.execute(
            """
            DELETE FROM webhooks_delivery WHERE id IN (
                SELECT id FROM (
                    SELECT id, row_number() OVER (PARTITION BY webhook_id ORDER BY created DESC, id) AS place
                    FROM webhooks_delivery WHERE state <> 'waiting'
                ) ranked WHERE place > %s
            )
            """,
            [MOST_KEPT],
        )
        return number + int(cursor.rowcount)
