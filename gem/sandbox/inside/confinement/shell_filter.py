"""The system calls that a shell and the programs it starts may not make, as a program for the kernel's packet filter.

Programs of a shell need most calls, so this filter lists what is refused: calls that change the kernel or other
processes, and calls that make namespaces, in which an ordinary user has privileges. The namespaces, mounts and limits
around the process do the rest. Refused calls fail with EPERM, so that a program can report it.
"""

from __future__ import annotations

import errno
import struct

from .seccomp import AF_UNIX, ALLOW, CLONE_NEW_NAMESPACES, ERRNO, FORBIDDEN, KILL_PROCESS, X32_BIT
from .syscalls import AUDIT_ARCH, numbers

AF_INET, AF_INET6 = 2, 10
UNCOUNTED_MEMORY_CALLS = ["memfd_create", "memfd_secret", "shmget", "msgget", "semget", "mq_open"]
"""Calls that allocate memory which belongs to no process, and which the watch on the processes' memory would miss."""
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
"""ioctl requests that insert input into a terminal."""
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`."""
_REFUSE = ERRNO | errno.EPERM


def build(machine: str | None = None, *, internet: bool = False) -> bytes:
    """The filter in the kernel's format.

    Args:
        machine: the architecture; the default is this machine's.
        internet: whether TCP and UDP sockets may be made, which reach as far as the network namespace does.

    Raises:
        LookupError: for an unsupported architecture.
    """
    call_numbers = numbers(machine)
    architecture = AUDIT_ARCH["x86_64" if "arch_prctl" in call_numbers else "aarch64"]
    code = [
        _statement(_LOAD, _ARCH),
        _jump(_EQUAL, architecture, 1, 0),
        _statement(_RETURN, KILL_PROCESS),
        _statement(_LOAD, _NUMBER),
    ]
    if "arch_prctl" in call_numbers:
        code += [_jump(_AT_LEAST, X32_BIT, 0, 1), _statement(_RETURN, KILL_PROCESS)]
    for name in (*FORBIDDEN, *UNCOUNTED_MEMORY_CALLS):
        if name in call_numbers:
            code += [_jump(_EQUAL, call_numbers[name], 0, 1), _statement(_RETURN, _REFUSE)]
    # clone3's flags are in memory, which a filter cannot read; programs fall back to clone
    code += [_jump(_EQUAL, call_numbers["clone3"], 0, 1), _statement(_RETURN, ERRNO | errno.ENOSYS)]
    new_namespaces = _jump(_ANY_BIT, CLONE_NEW_NAMESPACES, 0, 1)
    code += _check_argument(call_numbers["clone"], 0, new_namespaces, _statement(_RETURN, _REFUSE))
    families = (AF_UNIX, AF_INET, AF_INET6) if internet else (AF_UNIX,)
    allowed = [_jump(_EQUAL, family, len(families) - i, 0) for i, family in enumerate(families)]
    code += _check_argument(call_numbers["socket"], 0, *allowed, _statement(_RETURN, _REFUSE))
    for request in (TIOCSTI, TIOCLINUX):
        is_request = _jump(_EQUAL, request, 0, 1)
        code += _check_argument(call_numbers["ioctl"], 1, is_request, _statement(_RETURN, _REFUSE))
    code.append(_statement(_RETURN, ALLOW))
    return b"".join(code)


def _check_argument(number: int, argument: int, *instructions: bytes) -> list[bytes]:
    """Run instructions on the low half of a call's argument; afterwards, the number of the call is loaded again."""
    body = [_statement(_LOAD, _ARGUMENTS + 8 * argument), *instructions, _statement(_LOAD, _NUMBER)]
    return [_jump(_EQUAL, number, 0, len(body)), *body]


def _statement(code: int, value: int) -> bytes:
    return struct.pack("HBBI", code, 0, 0, value)


def _jump(code: int, value: int, if_true: int, if_false: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
