"""Webhooks: write down what is owed, and send what is due."""

from __future__ import annotations

from time import monotonic

from celery import current_app

from apps.webhooks import collecting, operations, sending
from workers.evaluate import MAX_RUN_SECONDS, stopping


@current_app.task(name=operations.TASK)
def deliver() -> None:
    """Collect events, and send deliveries until none is due or the time is up. The scheduler calls again."""
    until = monotonic() + MAX_RUN_SECONDS
    collecting.collect()
    while not stopping() and sending.send_due() and monotonic() < until:
        pass
