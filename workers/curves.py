"""The short form of curves that trainings elsewhere have sent."""

from __future__ import annotations

from celery import current_app

from apps.curves import thinning


@current_app.task(name=thinning.TASK)
def thin(training_id: str) -> None:
    """Bring the short form of a training's curves up to date."""
    thinning.thin(training_id)
