"""Uploaded checkpoints: try one after another until none is waiting."""

from __future__ import annotations

from celery import current_app

from apps.agents import uploads
from workers.evaluate import stopping
from workers.playing.cpu import CpuMeter


@current_app.task(name=uploads.TASK)
def check(slug: str) -> None:  # noqa: ARG001 (the claim decides, not the message)
    """Try waiting uploads. `slug` is only the upload that woke this worker."""
    while not stopping() and uploads.try_next(stopping, CpuMeter.of_checks):
        pass
