"""The system calls that untrusted code may make, as a program for the kernel's packet filter.

The program is assembled here, instruction by instruction (`struct sock_filter`, eight bytes each), so that no library
is needed. A call that is not listed fails with EPERM; a call that only an attack would make kills the process.
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


ALLOWED = _names("""
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
"""Calls that are allowed with any arguments. Landlock and the mounts restrict files, resource limits restrict amounts.
flock is not among them, because it can lock files that may only be read."""

FILE_CALLS = _names("""
truncate readlink readlinkat symlink symlinkat link linkat chmod fchmod fchmodat utimensat
""")
"""Calls that are harmless where every file outside /tmp is on a read-only mount. Landlock does not cover them, so
without mounts of its own, untrusted code could change modes and times of the user's files."""

SIGNAL_CALLS = ["kill", "tgkill", "tkill"]
"""Calls that are harmless where the process has a process namespace of its own."""

FORBIDDEN = _names("""
ptrace process_vm_readv process_vm_writev mount umount2 pivot_root move_mount open_tree mount_setattr fsopen fsmount
chroot unshare setns bpf keyctl add_key request_key init_module finit_module kexec_load open_by_handle_at
perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register reboot swapon swapoff acct kcmp quotactl
pidfd_getfd iopl ioperm personality
""")
"""Calls that kill the process."""

FIOCLEX, FIONCLEX, TCGETS, FIONBIO, FIONREAD, TIOCGWINSZ = 0x5451, 0x5450, 0x5401, 0x5421, 0x541B, 0x5413
PR_SET_NAME, PR_GET_NAME, PR_SET_SECCOMP = 15, 16, 22
FCNTL_COMMANDS = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032)
"""Copying descriptors, flags, locks, and reading the size of pipes. F_SETOWN and F_SETSIG are not among them, because
with them the kernel sends any signal to any process of the same user, nor is F_SETPIPE_SZ, which uses kernel memory."""
AF_UNIX = 1
CLONE_THREAD = 0x10000
CLONE_NEW_NAMESPACES = 0x7E020000 | 0x80
X32_BIT = 0x40000000
"""x86_64 accepts a second numbering of calls above this bit, which a list of numbers would not cover."""

ALLOW, KILL_PROCESS, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`."""


def build(*, is_isolated: bool, also: Iterable[str] = (), machine: str | None = None) -> bytes:
    """The filter in the kernel's format.

    Args:
        is_isolated: whether the process has mounts and processes of its own (the level `full`).
        also: further calls to allow.
        machine: the architecture; the default is this machine's.

    Raises:
        LookupError: for an unsupported architecture.
    """
    call_numbers = numbers(machine)
    code = [
        _statement(_LOAD, _ARCH),
        _jump(_JUMP_EQUAL, _architecture(call_numbers), 1, 0),
        _statement(_RETURN, KILL_PROCESS),
        _statement(_LOAD, _NUMBER),
    ]
    if "arch_prctl" in call_numbers:
        code += [_jump(_JUMP_AT_LEAST, X32_BIT, 0, 1), _statement(_RETURN, KILL_PROCESS)]
    allowed = [*ALLOWED, *(FILE_CALLS + SIGNAL_CALLS if is_isolated else []), *also]
    for names, verdict in ((allowed, ALLOW), (FORBIDDEN, KILL_PROCESS), (["clone3"], ERRNO | errno.ENOSYS)):
        for name in names:
            if name in call_numbers:
                code += [_jump(_JUMP_EQUAL, call_numbers[name], 0, 1), _statement(_RETURN, verdict)]
    for name, argument, mask, values in _conditions():
        code += _allow_values(call_numbers[name], argument, mask, values)
    code.append(_statement(_RETURN, ERRNO | errno.EPERM))
    return b"".join(code)


def _conditions() -> list[tuple[str, int, int, Iterable[int]]]:
    """Calls that are allowed with some values of an argument: name, argument, mask of the argument, values."""
    all_bits = 0xFFFFFFFF
    return [
        ("ioctl", 1, all_bits, (FIOCLEX, FIONCLEX, TCGETS, FIONBIO, FIONREAD, TIOCGWINSZ)),
        ("fcntl", 1, all_bits, FCNTL_COMMANDS),
        ("clone", 0, CLONE_THREAD | CLONE_NEW_NAMESPACES, (CLONE_THREAD,)),  # threads; libc falls back to it
        ("socketpair", 0, all_bits, (AF_UNIX,)),  # asyncio wakes its loop with one
        ("sendto", 4, all_bits, (0,)),  # without an address, so only to the other end of a pair
        ("prlimit64", 0, all_bits, (0,)),  # limits of the process itself, which it can only lower
        ("prctl", 0, all_bits, (PR_SET_NAME, PR_GET_NAME)),
    ]


def _allow_values(number: int, argument: int, mask: int, values: Iterable[int]) -> list[bytes]:
    """Allow a call if the low half of an argument has one of the values; refuse it with EPERM otherwise.

    Where only zero is allowed, the high half of a pointer-sized argument (sendto's address) has to be zero as well.
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


def _architecture(call_numbers: dict[str, int]) -> int:
    return AUDIT_ARCH["x86_64" if "arch_prctl" in call_numbers else "aarch64"]


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install(program: bytes) -> None:
    """Install a filter in this process; it cannot be removed.

    Raises:
        OSError: if the kernel refuses it.
    """
    buffer = ctypes.create_string_buffer(program, len(program))
    header = _FilterProgram(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    prctl(PR_SET_SECCOMP, 2, ctypes.addressof(header))
