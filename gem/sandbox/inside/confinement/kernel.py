"""System calls for which Python has no function, through libc; every failure is an OSError that names the call."""

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
_call_numbers = numbers()


def check_result(result: int, operation: str) -> int:
    """The result of a call, which is negative on failure.

    Raises:
        OSError: on failure, with `operation` in its message.
    """
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{operation}: {os.strerror(code)}")
    return result


def syscall(name: str, *arguments: int | bytes | None) -> int:
    """Make a system call by name; integers are passed at full width, bytes as a pointer to them."""
    wide_arguments = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return check_result(int(libc.syscall(ctypes.c_long(_call_numbers[name]), *wide_arguments)), name)


def prctl(option: int, *arguments: int) -> int:
    """Call `prctl(2)`."""
    wide_arguments = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    return check_result(int(libc.prctl(ctypes.c_int(option), *wide_arguments)), f"prctl {option}")


def unshare(flags: int) -> None:
    """Move this process to new namespaces; it must have a single thread."""
    syscall("unshare", flags)


def clone(flags: int) -> int:
    """Fork with flags; 0 in the child, the child's id in the parent.

    Only for a process with a single thread, because nothing is done that `os.fork` does for threads and locks. (The C
    library keeps the caller's thread id, which stays correct where parent and child are both process 1 of their
    namespace.)
    """
    return syscall("clone", flags | SIGCHLD, 0, 0, 0, 0)


def map_user(process: str, proc: int | None, user: int, group: int) -> None:
    """Keep the same user and group ids in the new user namespace.

    Args:
        process: the process's directory in /proc, absolute or relative to `proc`.
        proc: a descriptor of /proc.
    """
    for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        file = os.open(f"{process}/{name}", os.O_WRONLY | os.O_CLOEXEC, dir_fd=proc)
        os.write(file, line.encode())
        os.close(file)


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Call `mount(2)`."""
    result = libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode())
    check_result(int(result), f"mount {target}")


def copy_mount(path: str, *, devices: bool = False, writable: bool = False) -> int:
    """A detached copy of what is mounted at `path` and below, as a file descriptor.

    Args:
        devices: whether devices in it can be used, which makes it writable as well.
        writable: whether it can be written to.
    """
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE
    copy = check_result(syscall("open_tree", AT_FDCWD, os.fsencode(path), flags), f"copy of the mount {path}")
    attributes = ATTR_NOSUID | (0 if devices else ATTR_NODEV) | (0 if devices or writable else ATTR_RDONLY)
    set_mount_attributes(copy, attributes, recursive=True)
    return copy


def attach_mount(copy: int, target: str) -> None:
    """Mount a detached copy at `target`, which must exist, and close its descriptor."""
    syscall("move_mount", copy, b"", AT_FDCWD, os.fsencode(target), MOVE_FROM_EMPTY_PATH)
    os.close(copy)


def set_mount_attributes(mount_fd: int, attributes: int, *, recursive: bool) -> None:
    """Add attributes to a mount and, if `recursive`, to the mounts below it."""
    packed = struct.pack("QQQQ", attributes, 0, 0, 0)
    flags = AT_EMPTY_PATH | (AT_RECURSIVE if recursive else 0)
    syscall("mount_setattr", mount_fd, b"", flags, packed, len(packed))


def pivot_to(new_root: str) -> None:
    """Make `new_root`, which is a mount, the root of this process and its children; the old root is unmounted."""
    os.chdir(new_root)
    syscall("pivot_root", b".", b".")
    syscall("umount2", b".", MNT_DETACH)
    os.chdir("/")


def drop_bounding_set(*exceptions: int) -> None:
    """Make sure that no capability except these can ever be gained; the process must be privileged."""
    for capability in range(_last_capability() + 1):
        if capability not in exceptions:
            prctl(PR_CAPBSET_DROP, capability)


def keep_capabilities(*capabilities: int) -> None:
    """Drop all capabilities except these (of the first 32)."""
    mask = sum(1 << capability for capability in capabilities)
    header = struct.pack("Ii", CAPABILITY_VERSION, 0)
    syscall("capset", header, struct.pack("IIIIII", mask, mask, 0, 0, 0, 0))


def _last_capability() -> int:
    """The highest capability that the kernel has."""
    for capability in range(40, 64):
        if int(libc.prctl(PR_CAPBSET_READ, ctypes.c_ulong(capability), 0, 0, 0)) < 0:
            return capability - 1
    return 63
