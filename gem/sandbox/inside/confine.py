"""The process of one run: it confines itself, waits for its job, confines itself for good and executes the code.

In this order: what needs rights (mounts) first, then no rights, then Landlock, limits and, last, the filter of
system calls. Any failure ends the process before a line of the code is executed.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import socket
from dataclasses import dataclass
from typing import Any, NoReturn

from .confinement import bounds, kernel, landlock, seccomp
from .execution import cases, dialogue, program
from .settings import EXIT_BROKEN, FIRST_OWN, MAX_FDS, MAX_MESSAGE, Settings

PROGRAMS = {"script": program.script, "cases": cases.run, "ask": dialogue.ask, "answer": dialogue.answer}
"""What a job may name as the program that takes its code."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
OURS = 100
HIGHEST = 1 << 20
"""Descriptors are closed up to this one (with a single system call)."""
OPEN_FILES = 64
STACK_BYTES = 64 << 20
"""Of the main thread: deep recursion is common in answers to programming problems."""
FILES_IN_WORK = 1024


@dataclass(frozen=True)
class Plan:
    """What all runs of a sandbox have in common."""

    settings: Settings
    proc: int
    """The host's `/proc`, closed before any code runs."""
    landlock: int
    """The version that the kernel has."""
    user: tuple[int, int]
    """User and group, as they are outside."""
    calls: bytes
    """The filter of system calls, as `seccomp.build` makes it."""

    @property
    def full(self) -> bool:
        """Whether a run has mounts and processes of its own."""
        return self.settings.level == "full"


def live(line: socket.socket, plan: Plan, size: int) -> NoReturn:
    """The whole life of the process; it never returns to the zygote's code.

    Args:
        line: to the zygote, which sends one job.
        plan: of this sandbox.
        size: bytes of address space taken before the code asks for any.
    """
    line = socket.socket(fileno=_out_of_the_way(line.detach()))
    try:
        rules = _out_of_the_way(_prepare(plan))
        data, fds, _, _ = socket.recv_fds(line, MAX_MESSAGE, MAX_FDS)
        if not data:
            os._exit(0)
        job = json.loads(data)
        payload = _take_over(fds)
        _finish(plan, job, rules, size)
    except BaseException as error:  # noqa: BLE001 (whatever it is, no code may run now)
        try:
            line.send(f"{type(error).__name__}: {error}".encode()[:MAX_MESSAGE])
        finally:
            os._exit(EXIT_BROKEN)
    try:
        PROGRAMS[job["program"]](payload)
    finally:
        os._exit(EXIT_BROKEN)  # a program of ours ends the process itself, unless the code has broken it


def _prepare(plan: Plan) -> int:
    """What can be done before the job is known; the rules for Landlock."""
    settings = plan.settings
    kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)
    os.setsid()  # a signal to the process group must not reach the zygote
    if plan.full:
        kernel.map_user("self", plan.proc, *plan.user)
        _mount_work(settings.work, settings.work_bytes, 0)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(kernel.PR_SET_DUMPABLE, int(not plan.full))  # where the zygote counts, it looks at our descriptors
    rules = landlock.ruleset(plan.landlock)
    for path in settings.readable:
        landlock.allow(rules, path, landlock.READ, plan.landlock)
    for path in DEVICES:
        landlock.allow(rules, path, landlock.READ | landlock.WRITE_FILE, plan.landlock)
    landlock.allow(rules, settings.work, landlock.WRITE, plan.landlock)
    return rules


def _mount_work(work: str, size: int, flags: int) -> None:
    """A file system in memory for this run alone; it ends with the process."""
    safe = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC | flags
    kernel.mount("tmpfs", work, "tmpfs", safe, f"size={size},nr_inodes={FILES_IN_WORK},mode=0700")


def _out_of_the_way(fd: int) -> int:
    """The same descriptor with a number that no job's descriptor takes."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, OURS)
    os.close(fd)
    return moved


def _take_over(fds: list[int]) -> bytes:
    """The job's descriptors at their places: 0 to 2, and the program's own from 3; what it is to execute."""
    code, *others = fds
    with os.fdopen(code, "rb") as file:
        payload = file.read()
    for place, fd in enumerate([_out_of_the_way(fd) for fd in others]):
        os.dup2(fd, place)
    return payload


def _finish(plan: Plan, job: dict[str, Any], rules: int, size: int) -> None:
    """No way back from here: Landlock, no capabilities, limits, the filter; no descriptor but the job's."""
    settings = plan.settings
    os.chdir(settings.work)
    if plan.full and job["files"] != settings.work_bytes:
        _mount_work(settings.work, job["files"], kernel.MS_REMOUNT)
    landlock.restrict(rules)
    kernel.keep_capabilities(*((kernel.CAP_DAC_READ_SEARCH,) if settings.reach else ()))
    os.closerange(FIRST_OWN + job["own"], HIGHEST)
    bounds.limit(resource.RLIMIT_AS, size + job["memory"])
    bounds.limit(resource.RLIMIT_CPU, int(job["cpu"]) + 1)
    bounds.limit(resource.RLIMIT_FSIZE, job["files"])
    bounds.limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    bounds.limit(resource.RLIMIT_STACK, STACK_BYTES)
    bounds.limit(resource.RLIMIT_CORE, 0)
    bounds.limit(resource.RLIMIT_MEMLOCK, 0)
    if plan.full or settings.user is not None:
        bounds.limit(resource.RLIMIT_NPROC, job["threads"])
    seccomp.install(plan.calls)
