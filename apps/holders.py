"""Which process holds a lease: its token names the machine and the process, so that others on the machine see it die.

A process that is killed cannot release its leases. Whoever notices on the same machine does it (`apps.leases`); on
other machines the leases expire.
"""

from __future__ import annotations

import functools
import os
import platform
import secrets
from hashlib import sha256
from pathlib import Path
from uuid import UUID

import psutil

_MACHINE_BYTES, _PID_BYTES, _RANDOM_BYTES = 8, 4, 4


def new_token() -> UUID:
    """A token for leases of this process."""
    return UUID(bytes=_machine() + os.getpid().to_bytes(_PID_BYTES) + secrets.token_bytes(_RANDOM_BYTES))


def tokens_of_this_machine() -> tuple[UUID, UUID]:
    """The lowest and the highest token that processes of this machine may have."""
    rest = _PID_BYTES + _RANDOM_BYTES
    return UUID(bytes=_machine() + bytes(rest)), UUID(bytes=_machine() + b"\xff" * rest)


def has_died(token: UUID | None) -> bool:
    """Whether the process that made this token was one of this machine and has ended."""
    if token is None or token.bytes[:_MACHINE_BYTES] != _machine():
        return False
    pid = int.from_bytes(token.bytes[_MACHINE_BYTES : _MACHINE_BYTES + _PID_BYTES])
    try:
        os.kill(pid, 0)
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except ProcessLookupError:
        return True
    except (PermissionError, psutil.Error):  # it belongs to another user
        return False


@functools.cache
def _machine() -> bytes:
    """What processes have in common that see each other by number: the machine since its start, and the container."""
    parts = [platform.node()]
    try:
        parts += [Path("/proc/sys/kernel/random/boot_id").read_text("ascii"), os.readlink("/proc/self/ns/pid")]
    except OSError:  # not on Linux
        parts.append(str(psutil.boot_time()))
    return sha256("\n".join(parts).encode()).digest()[:_MACHINE_BYTES]
