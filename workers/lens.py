"""True advantages of the turns of episodes, which are measured by forking."""

from __future__ import annotations

from celery import current_app

from apps.lens import asking, computing
from workers.evaluate import stopping


@current_app.task(name=asking.TASK)
def truth(key: str) -> None:  # noqa: ARG001 (the line decides, not the message)
    """Measure a part of what is next. What is left of it has a message of its own, behind other work."""
    if not stopping():
        computing.compute_next(stopping)
