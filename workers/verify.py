"""Verification of slow episodes, which takes too long for a page."""

from __future__ import annotations

from celery import current_app

from apps.episodes import verification


@current_app.task(name=verification.TASK)
def episode(episode_id: str) -> None:
    """Replay an episode and leave the verdict for the page."""
    verification.answer(episode_id)
