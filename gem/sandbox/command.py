"""One command of a shell: its limits and its result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gem.sandbox.inside.files.tree import Tree

CommandStatus = Literal["ended", "timeout", "memory", "output", "files"]
ShellState = str
"""What the next command inherits: the working directory in the first line, then the variables as `export -p` writes
them; empty before the first command."""


@dataclass(frozen=True, slots=True)
class ShellLimits:
    """What one command may use at most."""

    seconds: float = 20.0
    """Wall-clock time."""
    memory_bytes: int = 512 << 20
    """Memory of all processes together, and address space of each."""
    processes: int = 64
    output_bytes: int = 16 << 10
    """Bytes of the output that are returned: its beginning and its end."""
    disk_bytes: int = 32 << 20
    """Size of the files in the working directory while the command runs, and of those in /tmp."""
    tree_bytes: int = 1 << 20
    """Size of the files in the working directory at the end of the command."""
    tree_entries: int = 1000
    """Number of files and folders in the working directory at the end of the command."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command wrote and left behind."""

    status: CommandStatus
    """`ended`: the command ended by itself. `timeout`, `memory`, `output`: it was ended because it used too much.
    `files`: it left too much in the working directory."""
    output: str
    """Standard output and standard error, interleaved."""
    exit_code: int | None
    """None if the command did not end by itself."""
    tree: Tree | None
    """The content of the working directory; None with the status `files`."""
    shell: ShellState = field(default="", repr=False)
    excess: str = ""
    """With the status `files`: what was too much."""
