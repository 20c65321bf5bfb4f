"""The list of system calls that a shell and the programs it starts may not make.

Programs of a shell need most calls, so this is a list of refusals, not of permissions: what reaches into the kernel,
into other processes, or makes namespaces, in which an ordinary user has rights. The namespaces, mounts and limits
around the process do the rest. Everything refused fails with EPERM, so a program can say so.
"""

from __future__ import annotations

import errno
import struct

from .seccomp import AF_UNIX, ALLOW, CLONE_NEW_ANYTHING, DEADLY, ERRNO, KILL_PROCESS, X32_BIT
from .syscalls import AUDIT_ARCH, numbers

AF_INET, AF_INET6 = 2, 10
UNCOUNTED = ["memfd_create", "memfd_secret", "shmget", "msgget", "semget", "mq_open"]
"""Memory that belongs to no process: it would slip past the watch on what the processes have."""
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
"""Requests that type into a terminal."""
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`."""
_REFUSE = ERRNO | errno.EPERM


def build(machine: str | None = None, *, internet: bool = False) -> bytes:
    """The filter as the kernel takes it.

    Args:
        machine: the architecture, this machine's by default.
        internet: whether TCP and UDP sockets may be made, which lead as far as the network namespace does.

    Raises:
        LookupError: for an architecture that is not known.
    """
    number = numbers(machine)
    arch = AUDIT_ARCH["x86_64" if "arch_prctl" in number else "aarch64"]
    code = [_do(_LOAD, _ARCH), _jump(_EQUAL, arch, 1, 0), _do(_RETURN, KILL_PROCESS), _do(_LOAD, _NUMBER)]
    if "arch_prctl" in number:
        code += [_jump(_AT_LEAST, X32_BIT, 0, 1), _do(_RETURN, KILL_PROCESS)]
    for name in (*DEADLY, *UNCOUNTED):
        if name in number:
            code += [_jump(_EQUAL, number[name], 0, 1), _do(_RETURN, _REFUSE)]
    # clone3's flags lie in memory, where no filter sees them; programs fall back to clone
    code += [_jump(_EQUAL, number["clone3"], 0, 1), _do(_RETURN, ERRNO | errno.ENOSYS)]
    code += _argument(number["clone"], 0, _jump(_ANY_BIT, CLONE_NEW_ANYTHING, 0, 1), _do(_RETURN, _REFUSE))
    families = (AF_UNIX, AF_INET, AF_INET6) if internet else (AF_UNIX,)
    allowed = [_jump(_EQUAL, family, len(families) - place, 0) for place, family in enumerate(families)]
    code += _argument(number["socket"], 0, *allowed, _do(_RETURN, _REFUSE))
    for request in (TIOCSTI, TIOCLINUX):
        code += _argument(number["ioctl"], 1, _jump(_EQUAL, request, 0, 1), _do(_RETURN, _REFUSE))
    code.append(_do(_RETURN, ALLOW))
    return b"".join(code)


def _argument(number: int, argument: int, *judgement: bytes) -> list[bytes]:
    """Judge a call by the low half of an argument; then the number of the call is loaded again."""
    body = [_do(_LOAD, _ARGUMENTS + 8 * argument), *judgement, _do(_LOAD, _NUMBER)]
    return [_jump(_EQUAL, number, 0, len(body)), *body]


def _do(code: int, value: int) -> bytes:
    return struct.pack("HBBI", code, 0, 0, value)


def _jump(code: int, value: int, if_true: int, if_false: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
