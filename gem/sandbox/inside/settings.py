"""What the host passes to a sandbox at its start, and constants that both use."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

HOME = "/home/agent"
"""The home directory in a sandbox, which holds the tree of a shell; it is no directory of the host."""
EXIT_BROKEN, EXIT_MEMORY = 253, 252
"""Exit codes of the process of a run: it could not go on, or its memory was full."""
FIRST_EXTRA_FD = 3
"""A job comes with the code, then the descriptors 0, 1 and 2, then further descriptors from this number on."""
MAX_FDS = 8
"""Most descriptors of a message."""
MAX_MESSAGE_BYTES = 1 << 16


@dataclass(frozen=True)
class Settings:
    """The settings of a sandbox process."""

    level: str
    """`full` or `landlock`."""
    control: int
    """The descriptor of the socket to the host."""
    readable: list[str]
    """Files and directories of the host that the code may read."""
    module_paths: list[str]
    """`sys.path` of the code."""
    preload: list[str]
    """Modules that are imported beforehand."""
    user: int | None
    """The user and group to become; None keeps the caller's."""
    can_read_all: bool
    """Whether to keep the right to read files of other users, because the interpreter is in a private directory."""
    work_folder: str
    """The directory to which the code may write; at the level `full` it is a file system in memory."""
    work_bytes: int
    """The size of that file system unless a job specifies another."""

    def to_json(self) -> str:
        """The settings as an argument of a command."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """The settings that `to_json` wrote."""
        return cls(**json.loads(text))
