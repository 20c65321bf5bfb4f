"""Removing what untrusted code left behind: trees deeper than paths and recursion go, with whatever modes."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat

DEEPEST = 64
"""Directories in directories; a tree that goes deeper is not looked at further, and counts as too much."""
TOO_MUCH = 1 << 62


def empty(folder: str) -> None:
    """Remove everything below a directory. Nothing that could change it may be running.

    Directories are moved to the top before they are removed, so depth costs no recursion and no long path.
    """
    try:
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        with contextlib.suppress(OSError):  # what cannot be removed stays
            while names := os.listdir(top):
                for name in names:
                    _remove(top, name, top)
    finally:
        os.close(top)


def _remove(place: int, name: str, top: int) -> None:
    """Remove an entry of the directory at the top, after what is in it has been removed or moved there."""
    if not _is_directory(place, name):
        os.unlink(name, dir_fd=place)
        return
    os.chmod(name, 0o700, dir_fd=place)
    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
    try:
        for entry in os.listdir(inner):
            if _is_directory(inner, entry):
                os.chmod(entry, 0o700, dir_fd=inner)  # else it could not be moved
                os.rename(entry, secrets.token_hex(16), src_dir_fd=inner, dst_dir_fd=top)
            else:
                os.unlink(entry, dir_fd=inner)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=place)


def _is_directory(place: int, name: str) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=place, follow_symlinks=False).st_mode)


def bytes_in(folder: str, most: int = TOO_MUCH) -> int:
    """What the files under a directory take, while others change it; `TOO_MUCH` where that cannot be seen.

    Nothing is counted further once it is above `most`: who writes many small files would keep the counter busy.
    """
    total = 0
    waiting = [(folder, 0)]
    while waiting:
        path, depth = waiting.pop()
        if depth > DEEPEST:
            return TOO_MUCH
        try:
            for entry in os.scandir(path):
                if total > most:
                    return total
                with contextlib.suppress(FileNotFoundError):  # gone meanwhile
                    found = entry.stat(follow_symlinks=False)
                    total += found.st_blocks * 512 + 1024
                    if stat.S_ISDIR(found.st_mode):
                        waiting.append((entry.path, depth + 1))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:  # closed to its owner, or a path that is too long: it hides something
            return TOO_MUCH
    return total
