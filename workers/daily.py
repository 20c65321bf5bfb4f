"""The daily seed: let agents play it while no other live episode waits, and store results."""

from __future__ import annotations

from celery import current_app

from apps.daily import operations


@current_app.task(name="daily.keep")
def keep() -> None:
    """Store the results of tries that are over, and let one more agent begin."""
    operations.collect()
    operations.let_agent_play()
