"""Landlock: which files a process may read and write from now on, whatever its user may.

Also closes TCP (ABI 4), abstract unix sockets and signals to other processes (ABI 6) where the kernel can.
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
"""What may be done in the directory that belongs to the code: no program is started, no device or socket made."""
FILE_ONLY = READ_FILE | WRITE_FILE | TRUNCATE
TRUNCATES = 3
"""The first ABI that covers truncation; before, a file that may be read could be emptied."""

_HANDLED = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF}
_ALL = 0xFFFF
_ABI_WITH_TCP, _ABI_WITH_SCOPES = 4, 6
_PATH_BENEATH = 1


def abi() -> int:
    """The version of Landlock that the kernel has; 0 without it."""
    try:
        return syscall("landlock_create_ruleset", None, 0, 1)
    except OSError:
        return 0


def ruleset(version: int) -> int:
    """An empty set of rules, which allows nothing: a file descriptor."""
    words = [_HANDLED.get(version, _ALL)]
    if version >= _ABI_WITH_TCP:
        words.append(0b11)  # bind and connect
    if version >= _ABI_WITH_SCOPES:
        words.append(0b11)  # abstract unix sockets, signals
    packed = struct.pack(f"{len(words)}Q", *words)
    return syscall("landlock_create_ruleset", packed, len(packed), 0)


def allow(rules: int, path: str, access: int, version: int) -> None:
    """Allow `access` to `path` and what is below it; a path that does not exist needs no rule."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            access &= FILE_ONLY
        rule = struct.pack("=Qi", access & _HANDLED.get(version, _ALL), place)
        syscall("landlock_add_rule", rules, _PATH_BENEATH, rule, 0)
    finally:
        os.close(place)


def restrict(rules: int) -> None:
    """Confine this process, and what it becomes, to the rules; it must have given up new privileges before."""
    syscall("landlock_restrict_self", rules, 0)
    os.close(rules)
