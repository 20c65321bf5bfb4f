"""What is kept of how agents and people do: brought up to date every half minute, beside other work of this queue."""

from __future__ import annotations

from celery import current_app

from apps.standings import profiles, refreshing


@current_app.task(name=refreshing.TASK)
def refresh() -> None:
    """Measure jobs that are done, collect games, and compute the ratings and the rows of people."""
    refreshing.refresh()


@current_app.task(name=refreshing.TASK_PROFILE)
def profile(agent_id: int) -> None:
    """Compose the profile of an agent anew, because a job behind it has become private or was hidden."""
    profiles.refresh(agent_id)
