"""Removes and measures what untrusted code left behind: trees too deep for paths and recursion, with any modes."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat

MAX_DEPTH = 64
"""Depth of nested directories beyond which a tree is not measured and counts as `UNMEASURABLE`."""
UNMEASURABLE = 1 << 62
"""A size above every limit, for files whose size cannot be determined."""


def empty_folder(folder: str) -> None:
    """Remove everything in a directory, which no running process may change.

    Directories are moved to the top before they are removed, so that depth needs neither recursion nor long paths.
    """
    try:
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        with contextlib.suppress(OSError):  # files that cannot be removed stay
            while names := os.listdir(top):
                for name in names:
                    _remove(top, name, top)
    finally:
        os.close(top)


def _remove(parent: int, name: str, top: int) -> None:
    """Remove an entry of the directory `parent`; subdirectories of the entry are moved to the directory `top`."""
    if not _is_directory(parent, name):
        os.unlink(name, dir_fd=parent)
        return
    os.chmod(name, 0o700, dir_fd=parent)
    directory = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        for entry in os.listdir(directory):
            if _is_directory(directory, entry):
                os.chmod(entry, 0o700, dir_fd=directory)  # otherwise it could not be moved
                os.rename(entry, secrets.token_hex(16), src_dir_fd=directory, dst_dir_fd=top)
            else:
                os.unlink(entry, dir_fd=directory)
    finally:
        os.close(directory)
    os.rmdir(name, dir_fd=parent)


def _is_directory(parent: int, name: str) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)


def bytes_in(folder: str, limit: int = UNMEASURABLE) -> int:
    """The size of the files in a directory that running processes may change; `UNMEASURABLE` if it hides some.

    Counting ends above `limit`, because a process that writes many small files could keep it busy for long.
    """
    total = 0
    folders = [(folder, 0)]
    while folders:
        path, depth = folders.pop()
        if depth > MAX_DEPTH:
            return UNMEASURABLE
        try:
            for entry in os.scandir(path):
                if total > limit:
                    return total
                with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                    status = entry.stat(follow_symlinks=False)
                    total += status.st_blocks * 512 + 1024
                    if stat.S_ISDIR(status.st_mode):
                        folders.append((entry.path, depth + 1))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:  # its mode forbids reading it, or the path is too long: it may hide files
            return UNMEASURABLE
    return total
