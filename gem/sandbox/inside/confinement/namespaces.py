"""Namespaces of one's own: what the host's processes, mounts, network, IPC, control groups and name are is not seen."""

from __future__ import annotations

import os
import socket

from . import kernel

ALL = kernel.NEWNS | kernel.NEWPID | kernel.NEWNET | kernel.NEWIPC | kernel.NEWUTS | kernel.NEWCGROUP
"""A new user namespace comes with them where we are not root."""


def become_alone(name: str, closing: tuple[int, ...] = ()) -> None:
    """Go on as process 1 of new namespaces in a child; the parent waits for it and ends with its exit code.

    Args:
        name: of the machine, as seen from inside.
        closing: descriptors that are the child's alone.
    """
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        kernel.unshare(ALL)
    else:
        kernel.unshare(ALL | kernel.NEWUSER)
        kernel.map_user("/proc/self", None, user, group)
    socket.sethostname(name)
    child = os.fork()
    if child:
        for fd in closing:
            os.close(fd)
        _, status = os.waitpid(child, 0)
        os._exit(min(os.waitstatus_to_exitcode(status) % 256, 255))
