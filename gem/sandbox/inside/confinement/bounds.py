"""What a process gives up for good before it becomes somebody else's program, and what a group of them uses."""

from __future__ import annotations

import contextlib
import os
import resource

from . import kernel


def give_up_rights(user: int) -> None:
    """Become `user` if we are root; no capabilities, no way to gain any."""
    if os.geteuid() == 0:
        kernel.drop_bounding_set()
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    kernel.keep_capabilities()
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)


def limit(kind: int, most: int) -> None:
    """Set a resource limit, soft and hard, but never above what the host itself has."""
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(kind, (most, most))


def resident() -> int:
    """Bytes that all processes of this namespace but its first have in memory; 0 where that cannot be seen."""
    pages = 0
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit() and name != "1":
                with contextlib.suppress(OSError, IndexError), open(f"/proc/{name}/statm") as file:
                    pages += int(file.read().split()[1])
    return pages * resource.getpagesize()
