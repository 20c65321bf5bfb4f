"""The scheduler of periodic tasks, for machines whose clock is corrected."""

from __future__ import annotations

from typing import Any

from celery.beat import PersistentScheduler


class Scheduler(PersistentScheduler):
    """Celery's scheduler, which stores when each task last ran, and goes on if the clock is set back.

    Celery's own would wait until the clock has caught up, which may take hours, and so would one that is restarted.
    Meanwhile nobody would search for lost work.
    """

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send the next due task. A task that last ran in the future counts as one that ran now."""
        now = self.app.now()
        entries_ahead = [entry for entry in self.schedule.values() if entry.last_run_at > now]
        for entry in entries_ahead:
            entry.last_run_at = now
        if entries_ahead:
            self._heap = None  # it is ordered by the clock as it was
        seconds: float = super().tick(*args, **kwargs)
        return seconds
