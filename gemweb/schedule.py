"""The scheduler of periodic tasks, which needs neither a disk nor a clock that only goes forward."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from celery import beat

LONG_AGO = timedelta(days=1)


class Scheduler(beat.Scheduler):
    """Celery's scheduler, which sends every task when it starts, and goes on if the clock is set back.

    Celery's own would wait until the clock has caught up, which may take hours: meanwhile nobody would search for lost
    work. And the one that stores in a file when each task last ran ends when the disk is full.
    """

    def setup_schedule(self) -> None:
        """Make the schedule. Every task is due."""
        super().setup_schedule()
        for entry in self.schedule.values():
            entry.last_run_at = self.app.now() - LONG_AGO

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send the next due task. A task that last ran in the future counts as one that ran now."""
        now = self.app.now()
        entries_ahead = [entry for entry in self.schedule.values() if entry.last_run_at and entry.last_run_at > now]
        for entry in entries_ahead:
            entry.last_run_at = now
        if entries_ahead:
            self._heap = None  # it is ordered by the clock as it was
        seconds: float = super().tick(*args, **kwargs)
        return seconds
