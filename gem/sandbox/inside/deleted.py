"""Files without a name that a run holds on to, where the kernel does not limit what is written in all.

A file that was deleted, or never had a name, is in no directory but takes its room until the last descriptor and the
last mapping of it are gone. Descriptors tell its size. A mapping does not, so a file that is only mapped counts as
the largest that there can be.
"""

from __future__ import annotations

import contextlib
import os
import stat

from .emptying import TOO_MUCH

GONE = " (deleted)"
FILTERED = "Seccomp:\t2"
"""The line of a process's status that says so."""


def bytes_held(proc: int, pid: int, folder: str, largest: int) -> int:
    """What the files below `folder` take that have no name and that a process has open or mapped.

    Every thread is looked at: one can have descriptors of its own, and the first one may have ended.

    Args:
        proc: a descriptor of the host's `/proc`.
        pid: the process.
        folder: the only place where it can make files.
        largest: bytes that a single file can have.

    Returns:
        Bytes; 0 once the process has ended; `TOO_MUCH` where it cannot be seen.
    """
    device = os.stat(folder).st_dev
    opened: dict[int, int] = {}
    mapped: set[int] = set()
    for thread in _threads(proc, pid):
        try:
            opened |= _opened(proc, f"{thread}/fd", device)
            mapped = mapped or _mapped(proc, f"{thread}/maps", folder)
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            continue
        except OSError:
            if _runs_code(proc, thread) and _has_memory(proc, thread):  # else it is beginning or ending
                return TOO_MUCH
    return sum(opened.values()) + largest * len(mapped - set(opened))


def _threads(proc: int, pid: int) -> list[str]:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return [f"{pid}/task/{name}" for name in _names(proc, f"{pid}/task")]
    return []


def _runs_code(proc: int, thread: str) -> bool:
    """Whether a thread is under the filter of system calls: that is the last thing to come before any code.

    Until then it has written nothing, and cannot be looked at: a process that the zygote forked a moment ago is as
    closed as the zygote itself.
    """
    return FILTERED in _read(proc, f"{thread}/status").splitlines()


def _has_memory(proc: int, thread: str) -> bool:
    """Whether a thread lives: one that ends gives up its memory first."""
    return not _read(proc, f"{thread}/statm").startswith(("0 ", "\0"))


def _read(proc: int, path: str) -> str:
    """A small file; a NUL if the thread has ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        place = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
        with open(place, encoding="utf-8", errors="replace") as file:
            return file.read()
    return "\0"


def _names(proc: int, path: str) -> list[str]:
    place = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=proc)
    try:
        return os.listdir(place)
    finally:
        os.close(place)


def _opened(proc: int, path: str, device: int) -> dict[int, int]:
    """Files without a name behind the descriptors of a thread: number of the inode to bytes."""
    found = {}
    for number in _names(proc, path):
        try:
            about = os.stat(f"{path}/{number}", dir_fd=proc)
        except FileNotFoundError:  # closed meanwhile
            continue
        if about.st_nlink == 0 and stat.S_ISREG(about.st_mode) and about.st_dev == device:
            found[about.st_ino] = about.st_blocks * 512
    return found


def _mapped(proc: int, path: str, folder: str) -> set[int]:
    """Inodes of files without a name below the folder that are mapped into memory."""
    place = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
    with open(place, encoding="utf-8", errors="replace") as maps:
        lines = [line.rstrip("\n").split(maxsplit=5) for line in maps if GONE in line]
    return {int(line[4]) for line in lines if len(line) == 6 and line[5].startswith(f"{folder}/")}
