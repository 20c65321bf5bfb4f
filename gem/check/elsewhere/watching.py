"""Whether the processes of a check still do something. The clock alone does not tell it on a machine that is busy."""

from __future__ import annotations

import os
import time
from pathlib import Path

STILL = 0.1
"""Processes that use less processor time than this many seconds wait."""
IDLE_SECONDS = 120.0
"""Processes that wait for so long wait for something that does not come."""
BLIND_FACTOR = 10
"""Where their processor time cannot be read, so many times as long by the clock is enough."""


class Watch:
    """Watches a group of processes.

    Args:
        group: the number of the group.
        idle_seconds: how long they may wait.
        cpu_seconds: the processor time that they may use for one thing, with a margin, if they do not limit it.
    """

    def __init__(self, group: int, idle_seconds: float, cpu_seconds: float) -> None:
        self._group, self._idle_seconds, self._cpu_seconds = group, idle_seconds, cpu_seconds
        self.restart()

    def restart(self) -> None:
        """Begin anew: something has happened."""
        self._began = self._moved = time.monotonic()
        self._used_at_begin = self._used = cpu_seconds_of(self._group)

    def complaint(self) -> str:
        """Why nothing is to be expected of them any more, as a sentence; empty if they work."""
        now, used = time.monotonic(), cpu_seconds_of(self._group)
        if used is None or self._used is None or self._used_at_begin is None:
            limit = BLIND_FACTOR * self._cpu_seconds
            return f"It did not come back within {limit:g} seconds." if now - self._began > limit else ""
        if abs(used - self._used) > STILL:  # less than before if one of the processes has ended
            self._used, self._moved = used, now
        if used - self._used_at_begin > 2 * self._cpu_seconds:
            return f"It did not come back within {2 * self._cpu_seconds:g} seconds of processor time."
        if now - self._moved > self._idle_seconds:
            return f"It waits for something that did not come within {self._idle_seconds:g} seconds."
        return ""


def cpu_seconds_of(group: int) -> float | None:
    """The processor time that the processes of a group have used so far, or None if that cannot be read here."""
    processes = Path("/proc")
    if not (processes / "self" / "stat").exists():
        return None
    ticks = 0
    for folder in processes.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            stat = (folder / "stat").read_text()
        except OSError:  # it has ended
            continue
        fields = stat.rpartition(")")[2].split()  # a name may have spaces and brackets
        if int(fields[2]) == group:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
