"""Verification of slow episodes, which takes too long for a page, and of rows of the leaderboard before they rank."""

from __future__ import annotations

from celery import current_app

from apps.episodes import verification
from apps.leaderboard.proofs import checks, waiting
from workers.evaluate import stopping


@current_app.task(name=verification.TASK)
def episode(episode_id: str) -> None:  # noqa: ARG001 (the queue decides, not the message)
    """Replay the episodes that wait, and leave the verdicts for their pages. `episode_id` only woke this worker."""
    while not stopping() and verification.answer_next():
        pass


@current_app.task(name=waiting.TASK)
def rows(job_id: str) -> None:  # noqa: ARG001 (the line decides, not the message)
    """Execute a part of the row that is next. What is left of it has a message of its own, behind other work."""
    if not stopping():
        checks.check_next(stopping)
