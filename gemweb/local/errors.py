"""The one error of the embedded stack: a sentence for the person at the terminal."""

import errno
from pathlib import Path


class StackError(Exception):
    """A problem that the user can solve; the message is one sentence that says how."""


def explain(error: OSError, place: Path) -> StackError:
    """Turn an operating-system error about `place` into a sentence that says what to do."""
    where = Path(error.filename) if isinstance(error.filename, str) else place
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return disk_full(where)
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return StackError(f"Cannot write to {where}: make it writable, or choose another folder with STATE_DIR=...")
    if error.errno in {errno.ENOTDIR, errno.EEXIST}:
        return StackError(f"{where} is in the way of a folder: move it, or choose another folder with STATE_DIR=...")
    reason = error.strerror or str(error)
    return StackError(f"{where} cannot be used ({reason}): choose another folder with STATE_DIR=...")


def disk_full(where: Path) -> StackError:
    """The error for a full disk."""
    return StackError(f"The disk that holds {where} is full: free some space there, or choose another STATE_DIR=...")
