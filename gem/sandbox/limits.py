"""The limits of a run, and its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gem.errors import InvalidArgument

Level = Literal["full", "landlock", "runsc", "disabled"]
Status = Literal["ok", "error", "timeout", "memory", "output", "killed"]

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use at most.

    Raises:
        InvalidArgument: for an amount that is not positive.
    """

    wall_seconds: float = 10.0
    cpu_seconds: float | None = None
    """CPU time over all threads; None allows as much as `wall_seconds`. The kernel counts whole seconds."""
    memory_bytes: int = 512 * MEBIBYTE
    """Memory in addition to that of the interpreter and the packages that were imported beforehand."""
    output_bytes: int = MEBIBYTE
    """Size of standard output, and of standard error."""
    files_bytes: int = 16 * MEBIBYTE
    """Size of the files in the working directory, which is empty at the start and the only folder to write to."""
    threads: int = 16
    """Number of threads."""

    def __post_init__(self) -> None:
        for name in ("wall_seconds", "memory_bytes", "output_bytes", "files_bytes", "threads"):
            if not getattr(self, name) > 0:
                raise InvalidArgument(f"{name} must be more than 0, not {getattr(self, name)!r}.")
        if self.cpu_seconds is not None and not self.cpu_seconds > 0:
            raise InvalidArgument(f"cpu_seconds must be more than 0 or None, not {self.cpu_seconds!r}.")


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one run of a program."""

    status: Status
    """`ok`: the program ended with exit code 0. `error`: it ended with another exit code, usually after an exception.
    `timeout`: it used up its wall or CPU time. `memory`: it reached the limit of its memory. `output`: it wrote too
    much. `killed`: a signal ended it, for example because of a crash of the interpreter or a forbidden system call."""
    stdout: str
    """Standard output; bytes that are not UTF-8 are replaced."""
    stderr: str
    """Standard error; bytes that are not UTF-8 are replaced."""
    wall_seconds: float
    cpu_seconds: float
    level: Level
    """How the run was confined."""
    exit_code: int | None = None
    """The program's exit code; negative: the signal that ended it; None if it was stopped from outside."""
    memory_bytes: int = 0
    """Peak of the resident memory, shared pages of the interpreter included."""

    @property
    def ok(self) -> bool:
        """Whether the program ended by itself and without an error."""
        return self.status == "ok"
