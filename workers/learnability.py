"""Whether environments can be learned, which is probed by playing them without thinking."""

from __future__ import annotations

from celery import current_app

from apps.learnability import asking, computing
from workers.evaluate import stopping


@current_app.task(name=asking.TASK)
def probe(key: str) -> None:  # noqa: ARG001 (the line decides, not the message)
    """Compute the probe that is next."""
    if not stopping():
        computing.compute_next(stopping)
