"""Measures files without a name that a run still uses, where the kernel does not limit the size of all files together.

A file that was deleted, or never had a name, is in no directory, but occupies space until its last descriptor is closed
and its last mapping is removed. A descriptor tells the file's size. A mapping does not, so a file that is only mapped
counts with the size that a single file can have at most.
"""

from __future__ import annotations

import contextlib
import os
import stat

from .cleanup import UNMEASURABLE

DELETED_SUFFIX = " (deleted)"
"""What the kernel appends to the path of a mapped file without a name."""


def bytes_held(proc: int, pid: int, folder: str, max_file_bytes: int) -> int:
    """The size of the files below `folder` that have no name and that a process has open or mapped.

    Every thread is inspected, because a thread can have descriptors of its own, and the first one may have ended.

    Args:
        proc: a descriptor of the host's `/proc`.
        pid: the process.
        folder: the only folder in which the process can make files.
        max_file_bytes: the most that a single file can have.

    Returns:
        Bytes; 0 once the process has ended; `UNMEASURABLE` if it cannot be inspected.
    """
    device = os.stat(folder).st_dev
    open_files: dict[int, int] = {}
    mapped_inodes: set[int] = set()
    for thread in _threads(proc, pid):
        try:
            open_files |= _open_files(proc, f"{thread}/fd", device)
            mapped_inodes = mapped_inodes or _mapped_inodes(proc, f"{thread}/maps", folder)
        except (FileNotFoundError, ProcessLookupError):  # the thread has ended
            continue
        except OSError:
            if _has_memory(proc, thread):  # otherwise the thread is ending, and holds no files
                return UNMEASURABLE
    return sum(open_files.values()) + max_file_bytes * len(mapped_inodes - set(open_files))


def _threads(proc: int, pid: int) -> list[str]:
    """The directories of a process's threads, relative to `proc`."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return [f"{pid}/task/{name}" for name in _list_folder(proc, f"{pid}/task")]
    return []


def _has_memory(proc: int, thread: str) -> bool:
    """Whether a thread is alive: one that is ending frees its memory first."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        fd = os.open(f"{thread}/statm", os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
        with open(fd) as file:
            return not file.read().startswith("0 ")
    return False


def _list_folder(proc: int, path: str) -> list[str]:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=proc)
    try:
        return os.listdir(fd)
    finally:
        os.close(fd)


def _open_files(proc: int, path: str, device: int) -> dict[int, int]:
    """Sizes in bytes, by inode, of the files without a name that a thread has open."""
    sizes = {}
    for fd_name in _list_folder(proc, path):
        try:
            status = os.stat(f"{path}/{fd_name}", dir_fd=proc)
        except FileNotFoundError:  # closed meanwhile
            continue
        if status.st_nlink == 0 and stat.S_ISREG(status.st_mode) and status.st_dev == device:
            sizes[status.st_ino] = status.st_blocks * 512
    return sizes


def _mapped_inodes(proc: int, path: str, folder: str) -> set[int]:
    """Inodes of files without a name below the folder that are mapped into memory."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
    with open(fd, encoding="utf-8", errors="replace") as maps:
        lines = [line.rstrip("\n").split(maxsplit=5) for line in maps if DELETED_SUFFIX in line]
    return {int(line[4]) for line in lines if len(line) == 6 and line[5].startswith(f"{folder}/")}
