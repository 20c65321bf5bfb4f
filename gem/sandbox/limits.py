"""What a run may use, and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gem.errors import InvalidArgument

Level = Literal["full", "landlock", "runsc", "disabled"]
Status = Literal["ok", "error", "timeout", "memory", "output", "killed"]

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one run may use.

    Raises:
        InvalidArgument: for an amount that is not positive.
    """

    wall_seconds: float = 10.0
    cpu_seconds: float | None = None
    """Processor time over all threads; None: as much as `wall_seconds`. The kernel counts whole seconds."""
    memory_bytes: int = 512 * MEBIBYTE
    """Beyond what the interpreter and the packages imported for it beforehand take."""
    output_bytes: int = MEBIBYTE
    """Of standard output, and as much again of standard error."""
    files_bytes: int = 16 * MEBIBYTE
    """What the run may keep in its working directory, the only place it can write to. It is empty at the start."""
    threads: int = 16

    def __post_init__(self) -> None:
        for name in ("wall_seconds", "memory_bytes", "output_bytes", "files_bytes", "threads"):
            if not getattr(self, name) > 0:
                raise InvalidArgument(f"{name} must be more than 0, not {getattr(self, name)!r}.")
        if self.cpu_seconds is not None and not self.cpu_seconds > 0:
            raise InvalidArgument(f"cpu_seconds must be more than 0 or None, not {self.cpu_seconds!r}.")


@dataclass(frozen=True, slots=True)
class Result:
    """One run of a program."""

    status: Status
    """`ok`: it ended with exit code 0. `error`: with another one, usually after an exception. `timeout`: it used up
    wall or processor time. `memory`: it could not get more. `output`: it wrote too much. `killed`: by a signal, such
    as a crash of the interpreter or a forbidden system call."""
    stdout: str
    """Undecodable bytes are replaced."""
    stderr: str
    wall_seconds: float
    cpu_seconds: float
    level: Level
    """How the run was confined."""
    exit_code: int | None = None
    """Of the program; negative: the signal that ended it; None if it was stopped from outside."""
    memory_bytes: int = 0
    """The most it had in memory, shared pages of the interpreter included."""

    @property
    def ok(self) -> bool:
        """Whether the program ended by itself and without an error."""
        return self.status == "ok"
