"""Privileges and resource limits of a process before it executes another program, and the memory of all processes."""

from __future__ import annotations

import contextlib
import os
import resource

from . import kernel


def drop_privileges(user: int) -> None:
    """Become `user` if we are root, drop all capabilities, and make it impossible to gain any."""
    if os.geteuid() == 0:
        kernel.drop_bounding_set()
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    kernel.keep_capabilities()
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)


def set_limit(kind: int, value: int) -> None:
    """Set a resource limit, soft and hard, but not above the present hard limit."""
    hard_limit = resource.getrlimit(kind)[1]
    if hard_limit != resource.RLIM_INFINITY:
        value = min(value, hard_limit)
    resource.setrlimit(kind, (value, value))


def resident_bytes() -> int:
    """Resident memory of all processes in this namespace except the first; 0 where /proc is not mounted."""
    pages = 0
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit() and name != "1":
                with contextlib.suppress(OSError, IndexError), open(f"/proc/{name}/statm") as file:
                    pages += int(file.read().split()[1])
    return pages * resource.getpagesize()
