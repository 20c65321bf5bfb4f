"""The list of system calls that untrusted code may make, as a program for the kernel's packet filter.

Assembled here, instruction by instruction (`struct sock_filter`, eight bytes each), so that no library is needed.
What is not listed fails with EPERM; what only an attack would call kills the process.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from collections.abc import Iterable

from .kernel import prctl
from .syscalls import AUDIT_ARCH, numbers


def _names(text: str) -> list[str]:
    return text.split()


FREE = _names("""
read write readv writev pread64 pwrite64 close close_range fstat stat lstat newfstatat statx lseek mmap mprotect munmap
mremap brk madvise rt_sigaction rt_sigprocmask rt_sigreturn rt_sigtimedwait sigaltstack access faccessat faccessat2 pipe
pipe2 select pselect6 poll ppoll epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd2 dup dup2 dup3 fsync
fdatasync ftruncate getdents64 getcwd chdir fchdir rename renameat renameat2 mkdir mkdirat rmdir unlink unlinkat umask
open openat creat statfs fstatfs sendfile copy_file_range gettimeofday time clock_gettime clock_getres times getrusage
getrlimit sysinfo uname nanosleep clock_nanosleep alarm setitimer getitimer pause getpid gettid getppid getuid getgid
geteuid getegid getgroups getpgrp getpgid getsid getresuid getresgid getpriority sched_yield sched_getaffinity
sched_getparam sched_getscheduler arch_prctl set_tid_address set_robust_list futex rseq membarrier restart_syscall
getrandom exit exit_group shutdown recvfrom
""")
"""Allowed whatever the arguments. Landlock and the mounts decide about files, the limits about amounts. Not flock: it
takes hold of files that may only be read."""

OWN_FILES = _names("""
truncate readlink readlinkat symlink symlinkat link linkat chmod fchmod fchmodat utimensat
""")
"""Harmless where every file outside /tmp is on a read-only mount. Landlock does not cover them, so without mounts of
its own untrusted code must not change modes and times of the user's files."""

OWN_PROCESSES = ["kill", "tgkill", "tkill"]
"""Harmless where the process is alone in its own process namespace."""

DEADLY = _names("""
ptrace process_vm_readv process_vm_writev mount umount2 pivot_root move_mount open_tree mount_setattr fsopen fsmount
chroot unshare setns bpf keyctl add_key request_key init_module finit_module kexec_load open_by_handle_at
perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register reboot swapon swapoff acct kcmp quotactl
pidfd_getfd iopl ioperm personality
""")

FIOCLEX, FIONCLEX, TCGETS, FIONBIO, FIONREAD, TIOCGWINSZ = 0x5451, 0x5450, 0x5401, 0x5421, 0x541B, 0x5413
PR_SET_NAME, PR_GET_NAME, PR_SET_SECCOMP = 15, 16, 22
FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032)
"""Copies, flags, locks and the size of pipes. Not F_SETOWN and F_SETSIG, by which the kernel would send a signal of
choice to any process of the same user, nor F_SETPIPE_SZ, which takes memory of the kernel's."""
AF_UNIX = 1
CLONE_THREAD = 0x10000
CLONE_NEW_ANYTHING = 0x7E020000 | 0x80
X32_BIT = 0x40000000
"""x86_64 takes a second numbering above this bit, which would slip past a list of numbers."""

ALLOW, KILL_PROCESS, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`."""


def build(*, alone: bool, machine: str | None = None) -> bytes:
    """The filter as the kernel takes it.

    Args:
        alone: the process has mounts and processes of its own (the level `full`).
        machine: the architecture, this machine's by default.

    Raises:
        LookupError: for an architecture that is not known.
    """
    number = numbers(machine)
    code = [_statement(_LOAD, _ARCH), _jump(_JUMP_EQUAL, _arch(number), 1, 0), _statement(_RETURN, KILL_PROCESS)]
    code.append(_statement(_LOAD, _NUMBER))
    if "arch_prctl" in number:
        code += [_jump(_JUMP_AT_LEAST, X32_BIT, 0, 1), _statement(_RETURN, KILL_PROCESS)]
    free = [*FREE, *(OWN_FILES + OWN_PROCESSES if alone else [])]
    for names, verdict in ((free, ALLOW), (DEADLY, KILL_PROCESS), (["clone3"], ERRNO | errno.ENOSYS)):
        for name in names:
            if name in number:
                code += [_jump(_JUMP_EQUAL, number[name], 0, 1), _statement(_RETURN, verdict)]
    for name, argument, mask, values in _conditions():
        code += _only_if(number[name], argument, mask, values)
    code.append(_statement(_RETURN, ERRNO | errno.EPERM))
    return b"".join(code)


def _conditions() -> list[tuple[str, int, int, Iterable[int]]]:
    """Calls allowed if an argument, masked, is one of some values: name, argument, mask, values."""
    whole = 0xFFFFFFFF
    return [
        ("ioctl", 1, whole, (FIOCLEX, FIONCLEX, TCGETS, FIONBIO, FIONREAD, TIOCGWINSZ)),
        ("fcntl", 1, whole, FCNTL),
        ("clone", 0, CLONE_THREAD | CLONE_NEW_ANYTHING, (CLONE_THREAD,)),  # threads; clone3 falls back to it
        ("socketpair", 0, whole, (AF_UNIX,)),  # asyncio wakes its loop with one
        ("sendto", 4, whole, (0,)),  # no address: only to the other end of a pair
        ("prlimit64", 0, whole, (0,)),  # of the process itself, and then only downwards
        ("prctl", 0, whole, (PR_SET_NAME, PR_GET_NAME)),
    ]


def _only_if(number: int, argument: int, mask: int, values: Iterable[int]) -> list[bytes]:
    """Allow a call if the low half of an argument is right; otherwise EPERM.

    The high half of a pointer-sized argument (sendto's address) is looked at as well where only zero is right.
    """
    offset = _ARGUMENTS + 8 * argument
    body = [_statement(_LOAD, offset), _statement(_AND, mask)]
    if list(values) == [0]:
        body += [_jump(_JUMP_EQUAL, 0, 1, 0), _statement(_RETURN, ERRNO | errno.EPERM), _statement(_LOAD, offset + 4)]
    for value in values:
        body += [_jump(_JUMP_EQUAL, value, 0, 1), _statement(_RETURN, ALLOW)]
    body.append(_statement(_RETURN, ERRNO | errno.EPERM))
    return [_jump(_JUMP_EQUAL, number, 0, len(body)), *body]


def _statement(code: int, value: int) -> bytes:
    return struct.pack("HBBI", code, 0, 0, value)


def _jump(code: int, value: int, if_true: int, if_false: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _arch(number: dict[str, int]) -> int:
    return AUDIT_ARCH["x86_64" if "arch_prctl" in number else "aarch64"]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install(program: bytes) -> None:
    """Confine this process to the filter; it cannot be taken off again.

    Raises:
        OSError: if the kernel refuses.
    """
    buffer = ctypes.create_string_buffer(program, len(program))
    header = _Program(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    prctl(PR_SET_SECCOMP, 2, ctypes.addressof(header))
