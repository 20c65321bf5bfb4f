"""New namespaces, which hide the host's processes, mounts, network, IPC, control groups and host name."""

from __future__ import annotations

import os
import socket

from . import kernel

ALL = kernel.NEWNS | kernel.NEWPID | kernel.NEWNET | kernel.NEWIPC | kernel.NEWUTS | kernel.NEWCGROUP
"""All kinds but the user namespace, which is needed in addition where we are not root."""


def enter_new_namespaces(host_name: str, child_fds: tuple[int, ...] = ()) -> None:
    """Continue as process 1 of new namespaces in a child; the parent waits for it and ends with its exit code.

    Args:
        host_name: the machine's name inside.
        child_fds: descriptors that the parent closes.
    """
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        kernel.unshare(ALL)
    else:
        kernel.unshare(ALL | kernel.NEWUSER)
        kernel.map_user("/proc/self", None, user, group)
    socket.sethostname(host_name)
    child = os.fork()
    if child:
        for fd in child_fds:
            os.close(fd)
        _, status = os.waitpid(child, 0)
        os._exit(min(os.waitstatus_to_exitcode(status) % 256, 255))
