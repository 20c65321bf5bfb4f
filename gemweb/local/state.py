"""The state folder: where everything that survives a restart lives, used by one stack at a time."""

import fcntl
import os
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path

from gemweb.local.errors import StackError, disk_full, explain

NEEDED_BYTES = 150 * 1024 * 1024
"""A fresh database with its log takes 80 MB; less free space than this ends in a half-made one."""


def require_space(folder: Path) -> None:
    """Refuse to start on a disk that is about to be full."""
    if shutil.disk_usage(folder).free < NEEDED_BYTES:
        raise disk_full(folder)


def make_folder(folder: Path, mode: int = 0o700) -> Path:
    """Make `folder`, or say in one sentence why that cannot be done."""
    try:
        folder.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        raise explain(error, folder) from error
    return folder


def secret(path: Path) -> str:
    """The secret kept in `path`, made on first use, readable by its owner only."""
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
        """Make the folder, check it, and lock it for this process."""
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
        """Lock the folder; a guard that is still clearing up after a killed supervisor is waited for."""
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
