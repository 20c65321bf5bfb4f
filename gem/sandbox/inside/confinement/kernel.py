"""System calls that Python has no function for, through libc; every failure is an OSError that says what failed."""

from __future__ import annotations

import ctypes
import os
import struct

from .syscalls import numbers

NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = (
    0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 32, 16384, 1 << 18
MNT_DETACH = 2
AT_FDCWD, AT_EMPTY_PATH, AT_RECURSIVE = -100, 0x1000, 0x8000
OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC = 1, 0o2000000
MOVE_FROM_EMPTY_PATH = 4
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV = 1, 2, 4
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_KEEPCAPS, PR_SET_NO_NEW_PRIVS = 1, 4, 8, 38
PR_CAPBSET_READ, PR_CAPBSET_DROP = 23, 24
CAPABILITY_VERSION = 0x20080522
CAP_DAC_READ_SEARCH = 2
SIGCHLD = 17

libc = ctypes.CDLL(None, use_errno=True)
_number = numbers()


def checked(result: int, what: str) -> int:
    """The result of a call, which is negative on failure.

    Raises:
        OSError: on failure, with `what` in its message.
    """
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def syscall(name: str, *arguments: int | bytes | None) -> int:
    """A system call by name; integers are passed at full width, bytes as a pointer to them."""
    wide = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return checked(int(libc.syscall(ctypes.c_long(_number[name]), *wide)), name)


def prctl(option: int, *arguments: int) -> int:
    """`prctl(2)`."""
    wide = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    return checked(int(libc.prctl(ctypes.c_int(option), *wide)), f"prctl {option}")


def unshare(flags: int) -> None:
    """Leave namespaces behind; the process must have one thread."""
    syscall("unshare", flags)


def clone(flags: int) -> int:
    """`fork` with flags: 0 in the child, its id in the parent.

    Only for a process with a single thread: nothing that `os.fork` repairs in threads and locks is repaired. (The
    C library keeps the caller's own thread id: it stays right where parent and child are both process 1 of their
    namespace.)
    """
    return syscall("clone", flags | SIGCHLD, 0, 0, 0, 0)


def map_user(where: str, proc: int | None, user: int, group: int) -> None:
    """Be the same user and group in the new user namespace; `where` is this process's directory, under `proc`."""
    for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        target = os.open(f"{where}/{name}", os.O_WRONLY | os.O_CLOEXEC, dir_fd=proc)
        os.write(target, line.encode())
        os.close(target)


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """`mount(2)`."""
    result = libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode())
    checked(int(result), f"mount {target}")


def detached_copy(path: str, *, devices: bool = False, writable: bool = False) -> int:
    """A copy of what is mounted at `path` and below, not yet mounted anywhere: a file descriptor. It is read-only
    unless it is said to have devices or to be writable."""
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE
    tree = checked(syscall("open_tree", AT_FDCWD, os.fsencode(path), flags), f"copy of the mount {path}")
    attributes = ATTR_NOSUID | (0 if devices else ATTR_NODEV) | (0 if devices or writable else ATTR_RDONLY)
    set_attributes(tree, attributes, below=True)
    return tree


def attach(tree: int, target: str) -> None:
    """Mount a detached copy at `target`, which must exist, and close it."""
    syscall("move_mount", tree, b"", AT_FDCWD, os.fsencode(target), MOVE_FROM_EMPTY_PATH)
    os.close(tree)


def set_attributes(tree: int, attributes: int, *, below: bool) -> None:
    """Add attributes to a mount, named by a file descriptor, and to what is mounted below it."""
    packed = struct.pack("QQQQ", attributes, 0, 0, 0)
    flags = AT_EMPTY_PATH | (AT_RECURSIVE if below else 0)
    syscall("mount_setattr", tree, b"", flags, packed, len(packed))


def pivot_to(new_root: str) -> None:
    """Make `new_root`, which is a mount, the root; the old root is gone for this process and its children."""
    os.chdir(new_root)
    syscall("pivot_root", b".", b".")
    syscall("umount2", b".", MNT_DETACH)
    os.chdir("/")


def drop_bounding_set(*kept: int) -> None:
    """Make sure that no capability but these can ever be gained; for a process that may decide that."""
    for capability in range(_last_capability() + 1):
        if capability not in kept:
            prctl(PR_CAPBSET_DROP, capability)


def keep_capabilities(*kept: int) -> None:
    """Drop all capabilities but these (of the first 32)."""
    low = sum(1 << capability for capability in kept)
    header = struct.pack("Ii", CAPABILITY_VERSION, 0)
    syscall("capset", header, struct.pack("IIIIII", low, low, 0, 0, 0, 0))


def _last_capability() -> int:
    """The highest capability that the kernel knows."""
    for capability in range(40, 64):
        if int(libc.prctl(PR_CAPBSET_READ, ctypes.c_ulong(capability), 0, 0, 0)) < 0:
            return capability - 1
    return 63
