"""The process of one run: it confines itself, waits for its job, confines itself for good and executes the code.

The order matters: first the mounts, which need privileges; then privileges are dropped; then come Landlock, resource
limits and, last, the system call filter. Any failure ends the process before a line of the code is executed.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import socket
from dataclasses import dataclass
from typing import Any, NoReturn

from .confinement import kernel, landlock, limits, seccomp
from .execution import cases, dialogue, program
from .settings import EXIT_BROKEN, FIRST_EXTRA_FD, MAX_FDS, MAX_MESSAGE_BYTES, Settings

PROGRAMS = {"script": program.script, "cases": cases.run, "ask": dialogue.ask, "answer": dialogue.answer}
"""The runners that a job may name; each executes the job's code."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
FIRST_OWN_FD = 100
"""Our own descriptors are moved to this number and above, where no job's descriptor goes."""
LAST_FD = 1 << 20
"""Descriptors are closed up to this number, with a single system call."""
MAX_OPEN_FILES = 64
STACK_BYTES = 64 << 20
"""Stack of the main thread: answers to programming problems often use deep recursion."""
MAX_FILES_IN_WORK_FOLDER = 1024


@dataclass(frozen=True)
class ConfinementPlan:
    """What all runs of a sandbox have in common."""

    settings: Settings
    proc: int
    """A descriptor of the host's `/proc`, closed before any code runs."""
    landlock_abi: int
    """The version of Landlock that the kernel has."""
    user: tuple[int, int]
    """User and group, as numbered outside the sandbox."""
    filter: bytes
    """The system call filter, as `seccomp.build` makes it."""

    @property
    def has_namespaces(self) -> bool:
        """Whether a run has mounts and processes of its own."""
        return self.settings.level == "full"


def run(line: socket.socket, plan: ConfinementPlan, address_space: int) -> NoReturn:
    """Run one job and end the process; this never returns to the zygote's code.

    Args:
        line: the socket to the zygote, which sends the job.
        plan: of this sandbox.
        address_space: bytes that are in use before the code asks for any.
    """
    line = socket.socket(fileno=_move_fd(line.detach()))
    try:
        rules = _move_fd(_prepare(plan))
        data, fds, _, _ = socket.recv_fds(line, MAX_MESSAGE_BYTES, MAX_FDS)
        if not data:
            os._exit(0)
        job = json.loads(data)
        payload = _install_fds(fds)
        _finish(plan, job, rules, address_space)
    except BaseException as error:  # noqa: BLE001 (after any failure here, no code may run)
        try:
            line.send(f"{type(error).__name__}: {error}".encode()[:MAX_MESSAGE_BYTES])
        finally:
            os._exit(EXIT_BROKEN)
    try:
        PROGRAMS[job["program"]](payload)
    finally:
        os._exit(EXIT_BROKEN)  # our programs end the process themselves, unless the code has prevented that


def _prepare(plan: ConfinementPlan) -> int:
    """Do what is possible before the job is known; the descriptor of the rules for Landlock."""
    settings = plan.settings
    kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)
    os.setsid()  # a signal to the code's process group must not reach the zygote
    if plan.has_namespaces:
        kernel.map_user("self", plan.proc, *plan.user)
        _mount_work_folder(settings.work_folder, settings.work_bytes, 0)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    # Where the zygote counts files and threads, it has to inspect this process.
    kernel.prctl(kernel.PR_SET_DUMPABLE, int(not plan.has_namespaces))
    rules = landlock.make_ruleset(plan.landlock_abi)
    for path in settings.readable:
        landlock.allow(rules, path, landlock.READ, plan.landlock_abi)
    for path in DEVICES:
        landlock.allow(rules, path, landlock.READ | landlock.WRITE_FILE, plan.landlock_abi)
    landlock.allow(rules, settings.work_folder, landlock.WRITE, plan.landlock_abi)
    return rules


def _mount_work_folder(path: str, size: int, flags: int) -> None:
    """Mount a file system in memory for this run alone; it ends with the process."""
    all_flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC | flags
    kernel.mount("tmpfs", path, "tmpfs", all_flags, f"size={size},nr_inodes={MAX_FILES_IN_WORK_FOLDER},mode=0700")


def _move_fd(fd: int) -> int:
    """Give a descriptor a number that no job's descriptor gets."""
    new_fd = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_OWN_FD)
    os.close(fd)
    return new_fd


def _install_fds(fds: list[int]) -> bytes:
    """Give the job's descriptors their numbers, 0 to 2 and those after them; the payload to execute."""
    code, *others = fds
    with os.fdopen(code, "rb") as file:
        payload = file.read()
    for number, fd in enumerate([_move_fd(fd) for fd in others]):
        os.dup2(fd, number)
    return payload


def _finish(plan: ConfinementPlan, job: dict[str, Any], rules: int, address_space: int) -> None:
    """Confine this process for good: Landlock, no capabilities, limits, the filter, no descriptors but the job's."""
    settings = plan.settings
    os.chdir(settings.work_folder)
    if plan.has_namespaces and job["files"] != settings.work_bytes:
        _mount_work_folder(settings.work_folder, job["files"], kernel.MS_REMOUNT)
    landlock.restrict(rules)
    kernel.keep_capabilities(*((kernel.CAP_DAC_READ_SEARCH,) if settings.can_read_all else ()))
    os.closerange(FIRST_EXTRA_FD + job["extra_fds"], LAST_FD)
    limits.set_limit(resource.RLIMIT_AS, address_space + job["memory"])
    limits.set_limit(resource.RLIMIT_CPU, int(job["cpu"]) + 1)
    limits.set_limit(resource.RLIMIT_FSIZE, job["files"])
    limits.set_limit(resource.RLIMIT_NOFILE, MAX_OPEN_FILES)
    limits.set_limit(resource.RLIMIT_STACK, STACK_BYTES)
    limits.set_limit(resource.RLIMIT_CORE, 0)
    limits.set_limit(resource.RLIMIT_MEMLOCK, 0)
    if plan.has_namespaces or settings.user is not None:
        limits.set_limit(resource.RLIMIT_NPROC, job["threads"])
    seccomp.install(plan.filter)
