"""Landlock: restricts which files a process may read and write, in addition to the permissions of its user.

It also forbids TCP (ABI 4), abstract unix sockets and signals to other processes (ABI 6) where the kernel supports it.
"""

from __future__ import annotations

import os
import stat
import struct

from .kernel import syscall

WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG = 2, 4, 8, 16, 32, 128, 256
MAKE_SYM, REFER, TRUNCATE = 1 << 12, 1 << 13, 1 << 14
READ = READ_FILE | READ_DIR
WRITE = READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SYM | REFER | TRUNCATE
"""Access in the code's working directory: everything except starting programs and making devices or sockets."""
FILE_ACCESS = READ_FILE | WRITE_FILE | TRUNCATE
"""The kinds of access that apply to a file that is no directory."""
ABI_WITH_TRUNCATE = 3
"""The first ABI that covers truncation; with an older one, a file that may be read could be emptied."""

_HANDLED_ACCESS = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF}
"""The kinds of access that each ABI can restrict; later ones than 4 restrict `_ALL_ACCESS`."""
_ALL_ACCESS = 0xFFFF
_ABI_WITH_TCP, _ABI_WITH_SCOPES = 4, 6
_PATH_BENEATH = 1


def abi() -> int:
    """The version of Landlock that the kernel has; 0 without it."""
    try:
        return syscall("landlock_create_ruleset", None, 0, 1)
    except OSError:
        return 0


def make_ruleset(version: int) -> int:
    """Make an empty ruleset, which allows nothing, and return its file descriptor.

    Args:
        version: the kernel's ABI.
    """
    words = [_HANDLED_ACCESS.get(version, _ALL_ACCESS)]
    if version >= _ABI_WITH_TCP:
        words.append(0b11)  # bind and connect
    if version >= _ABI_WITH_SCOPES:
        words.append(0b11)  # abstract unix sockets, signals
    packed = struct.pack(f"{len(words)}Q", *words)
    return syscall("landlock_create_ruleset", packed, len(packed), 0)


def allow(rules: int, path: str, access: int, version: int) -> None:
    """Allow `access` to a path and everything below it; a path that does not exist is ignored."""
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            access &= FILE_ACCESS
        rule = struct.pack("=Qi", access & _HANDLED_ACCESS.get(version, _ALL_ACCESS), fd)
        syscall("landlock_add_rule", rules, _PATH_BENEATH, rule, 0)
    finally:
        os.close(fd)


def restrict(rules: int) -> None:
    """Confine this process and its children to the rules; `PR_SET_NO_NEW_PRIVS` must have been set before."""
    syscall("landlock_restrict_self", rules, 0)
    os.close(rules)
