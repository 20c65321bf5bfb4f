"""One command of a shell: the most that it may use, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gem.sandbox.inside.tree import Tree

Ending = Literal["ended", "timeout", "memory", "output", "files"]
Shell = str
"""The directory in the first line, then the variables as `export -p` writes them; empty at the beginning."""


@dataclass(frozen=True, slots=True)
class ShellLimits:
    """The most that one command may use."""

    seconds: float = 20.0
    memory_bytes: int = 512 << 20
    """Of all processes together, and of the address space of each."""
    processes: int = 64
    output_bytes: int = 16 << 10
    """What is kept of the output: the beginning and the end."""
    disk_bytes: int = 32 << 20
    """What may lie in the working directory while the command runs, and as much in /tmp."""
    kept_bytes: int = 1 << 20
    """What may lie in the working directory at its end."""
    kept_entries: int = 1000


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What came of a command."""

    status: Ending
    """`ended`: by itself. `timeout`, `memory`, `output`: it was ended because it used too much. `files`: it left too
    much in the working directory."""
    output: str
    """Standard output and standard error, as they came."""
    exit_code: int | None
    """None if it was ended."""
    tree: Tree | None
    """What the working directory holds now; None with `files`."""
    shell: Shell = field(default="", repr=False)
    said: str = ""
    """With `files`: what was too much."""
