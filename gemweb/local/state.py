"""The state folder, which contains all permanent data of a stack. Only one stack can use it at a time."""

import fcntl
import os
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path

from gemweb.local.errors import StackError, disk_full, explain

NEEDED_BYTES = 150 * 1024 * 1024
"""The free space that a start needs; a new database with its log takes 80 MB."""


def require_space(folder: Path) -> None:
    """Check that there is enough free space.

    Raises:
        StackError: if there is not.
    """
    if shutil.disk_usage(folder).free < NEEDED_BYTES:
        raise disk_full(folder)


def make_folder(folder: Path, mode: int = 0o700) -> Path:
    """Create `folder` if it does not exist.

    Raises:
        StackError: if it cannot be created.
    """
    try:
        folder.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        raise explain(error, folder) from error
    return folder


def secret(path: Path) -> str:
    """The secret in the file `path`, which is created at the first use and readable only by its owner."""
    if not path.exists():
        draft = path.with_name(f"{path.name}.new")
        draft.touch(0o600)
        draft.write_text(secrets.token_urlsafe(48))
        draft.rename(path)
    return path.read_text().strip()


class StateFolder:
    """The state folder of one stack."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = -1

    def open(self) -> None:
        """Create the folder, check it, and lock it for this process."""
        make_folder(self.folder)
        try:
            probe = self.folder / ".probe"
            probe.write_bytes(b"0" * 4096)
            probe.unlink()
            require_space(self.folder)
            self.lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise explain(error, self.folder) from error
        self._take_lock()

    def close(self) -> None:
        """Release the lock."""
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1

    def _take_lock(self) -> None:
        """Lock the folder. Waits for the guard of a killed supervisor, which holds the lock until it has finished."""
        deadline = time.monotonic() + 5
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            owner = os.pread(self.lock, 20, 0).decode().strip()
            if time.monotonic() > deadline or _alive(owner):
                raise StackError(
                    f"{self.folder} is in use by another running stack (process {owner or 'unknown'}): "
                    "stop that one, or choose another folder with STATE_DIR=..."
                )
            time.sleep(0.05)
        os.ftruncate(self.lock, 0)
        os.pwrite(self.lock, str(os.getpid()).encode(), 0)


def _alive(pid: str) -> bool:
    if not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
