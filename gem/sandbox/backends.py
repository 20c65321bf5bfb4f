"""What makes a sandbox of each level, and what all of them have in common."""

from __future__ import annotations

from typing import Protocol

from gem.sandbox.collect import Job
from gem.sandbox.gvisor import GvisorSlot
from gem.sandbox.limits import Level, Result
from gem.sandbox.slot import Slot


class Sandbox(Protocol):
    """Runs one job at a time; not for several threads at once."""

    preload: tuple[str, ...]
    """Modules that are imported before a job arrives."""
    jobs: int
    """How many it has been given."""

    @property
    def pid(self) -> int:
        """Of the process that all others of this sandbox are below."""

    def has(self, modules: frozenset[str]) -> bool:
        """Whether all of `modules` are imported already."""

    def import_also(self, modules: frozenset[str]) -> None:
        """Import more for the jobs to come.

        Raises:
            SlotDied: if it does not survive that.
        """

    def execute(self, job: Job) -> Result:
        """Run one job to its end.

        Raises:
            SlotDied: if the sandbox goes away; the job may be given to another.
            SandboxUnavailable: if the process could not be confined; no code ran.
        """

    def close(self) -> None:
        """End it and all below it; safe to call twice."""

    def forget(self) -> None:
        """In a process forked from ours: let go without ending what is not ours to end."""


def open_sandbox(level: Level, preload: tuple[str, ...] = ()) -> Sandbox:
    """Start a sandbox of a level.

    Raises:
        SandboxUnavailable: if it does not come up; the message has its complaint.
    """
    return GvisorSlot(preload) if level == "runsc" else Slot(level, preload)
