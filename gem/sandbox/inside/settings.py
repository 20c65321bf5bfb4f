"""What the host tells the sandbox at its start, and the words both use."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

HOME = "/home/agent"
"""The home directory inside, where the tree of a shell lies; no directory of the host."""
EXIT_BROKEN, EXIT_MEMORY = 253, 252
"""Exit codes of the process of a run: it could not go on, or memory ran out."""
FIRST_OWN = 3
"""A job comes with the code, then what become descriptors 0, 1 and 2, then the program's own from this number."""
MAX_FDS = 8
MAX_MESSAGE = 1 << 16


@dataclass(frozen=True)
class Settings:
    """One sandbox process and what its code may see."""

    level: str
    """`full` or `landlock`."""
    control: int
    """The socket to the host: a file descriptor."""
    readable: list[str]
    """Files and directories of the host that the code may read."""
    modules: list[str]
    """`sys.path` of the code."""
    preload: list[str]
    """Modules imported beforehand, so that a run need not."""
    user: int | None
    """The user and group to become; None keeps the caller's."""
    reach: bool
    """Keep the right to read what the new user could not: the interpreter is in a private directory."""
    work: str
    """Where the code may write: a directory, at the level `full` a file system of its own."""
    work_bytes: int
    """The size of that file system unless a job says otherwise."""

    def text(self) -> str:
        """For the command line."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> Settings:
        """From the command line."""
        return cls(**json.loads(text))
