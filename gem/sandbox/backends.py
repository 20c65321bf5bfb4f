"""The interface of all sandboxes, and a function that starts one of a level."""

from __future__ import annotations

from typing import Protocol

from gem.sandbox.gvisor import GvisorSlot
from gem.sandbox.job import SandboxJob
from gem.sandbox.limits import Level, Result
from gem.sandbox.slot import SandboxSlot


class Sandbox(Protocol):
    """Runs one job at a time; not thread-safe."""

    preload: tuple[str, ...]
    """Modules that are imported before a job arrives."""
    jobs: int
    """Number of jobs it has run."""

    @property
    def pid(self) -> int:
        """The id of the process from which all others of this sandbox descend."""

    def has(self, modules: frozenset[str]) -> bool:
        """Whether all of `modules` are imported already."""

    def import_also(self, modules: frozenset[str]) -> None:
        """Import more modules for later jobs.

        Raises:
            SlotDied: if the sandbox ends while it imports them.
        """

    def execute(self, job: SandboxJob) -> Result:
        """Run one job to its end.

        Raises:
            SlotDied: if the sandbox ends in the middle of the job, which may be given to another sandbox.
            SandboxUnavailable: if the process could not be confined; no code ran.
        """

    def close(self) -> None:
        """End the sandbox with all its processes; may be called twice."""

    def abandon_after_fork(self) -> None:
        """Close this process's handles without ending the sandbox, which belongs to the process that was forked."""


def open_sandbox(level: Level, preload: tuple[str, ...] = ()) -> Sandbox:
    """Start a sandbox of a level.

    Raises:
        SandboxUnavailable: if it does not start; the message contains its error.
    """
    return GvisorSlot(preload) if level == "runsc" else SandboxSlot(level, preload)
