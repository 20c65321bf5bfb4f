"""Verification of slow episodes, which takes too long for a page."""

from __future__ import annotations

from celery import current_app

from apps.episodes import verification
from workers.evaluate import stopping


@current_app.task(name=verification.TASK)
def episode(episode_id: str) -> None:  # noqa: ARG001 (the queue decides, not the message)
    """Replay the episodes that wait, and leave the verdicts for their pages. `episode_id` only woke this worker."""
    while not stopping() and verification.answer_next():
        pass
