"""The process of one run: it confines itself, waits for its job, confines itself for good and executes the code.

In this order: what needs rights (mounts) first, then no rights, then Landlock, limits and, last, the filter of
system calls. Any failure ends the process before a line of the code is executed.
"""

from __future__ import annotations

import json
import os
import resource
import socket
from typing import Any, NoReturn

from . import kernel, landlock, program, seccomp
from .settings import EXIT_SETUP, FIRST_OWN, MAX_FDS, MAX_MESSAGE, Settings

PROGRAMS = {"script": program.script}
OPEN_FILES = 64
STACK_BYTES = 64 << 20
"""Of the main thread: deep recursion is common in answers to programming problems."""
FILES_IN_WORK = 1024


def live(
    line: socket.socket, settings: Settings, proc: int, version: int, size: int, filter_program: bytes
) -> NoReturn:
    """The whole life of the process; it never returns to the zygote's code.

    Args:
        line: to the zygote, which sends one job.
        settings: the sandbox's.
        proc: the host's `/proc`, closed before the code runs.
        version: of Landlock.
        size: bytes of address space taken before the code asks for any.
        filter_program: of system calls, as `seccomp.build` made it.
    """
    try:
        rules = _prepare(settings, proc, version)
        data, fds, _, _ = socket.recv_fds(line, MAX_MESSAGE, MAX_FDS)
        if not data:
            os._exit(0)
        job = json.loads(data)
        payload = _take_over(fds)
        os.close(proc)
        _finish(settings, job, rules, size, filter_program)
    except BaseException as error:  # noqa: BLE001 (whatever it is, no code may run now)
        try:
            line.send(f"{type(error).__name__}: {error}".encode()[:MAX_MESSAGE])
        finally:
            os._exit(EXIT_SETUP)
    try:
        PROGRAMS[job["program"]](payload)
    finally:
        os._exit(EXIT_SETUP)  # a program ends the process itself


def _prepare(settings: Settings, proc: int, version: int) -> int:
    """What can be done before the job is known; the rules for Landlock."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)
    os.setsid()  # a signal to the process group must not reach the zygote
    if settings.level == "full":
        kernel.map_user("self", proc, settings.user or os.getuid(), settings.user or os.getgid())
        _mount_work(settings.work, settings.work_bytes, 0)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    rules = landlock.ruleset(version)
    for path in settings.readable:
        landlock.allow(rules, path, landlock.READ, version)
    for path in ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"):
        landlock.allow(rules, path, landlock.READ | landlock.WRITE_FILE, version)
    landlock.allow(rules, settings.work, landlock.WRITE, version)
    return rules


def _mount_work(work: str, size: int, flags: int) -> None:
    """A file system in memory for this run alone; it ends with the process."""
    safe = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC | flags
    kernel.mount("tmpfs", work, "tmpfs", safe, f"size={size},nr_inodes={FILES_IN_WORK},mode=0700")


def _take_over(fds: list[int]) -> bytes:
    """The job's descriptors at their places: 0 to 2, and the program's own from 3; what it is to execute."""
    code, *others = fds
    with os.fdopen(code, "rb") as file:
        payload = file.read()
    spare = [os.dup2(fd, 100 + place) for place, fd in enumerate(others)]
    for place, fd in enumerate(spare):
        os.dup2(fd, place, inheritable=True)
    return payload


def _finish(settings: Settings, job: dict[str, Any], rules: int, size: int, filter_program: bytes) -> None:
    """No way back from here: limits, Landlock, no capabilities, the filter."""
    os.chdir(settings.work)
    full = settings.level == "full"
    if full and job["files"] != settings.work_bytes:
        _mount_work(settings.work, job["files"], kernel.MS_REMOUNT)
    landlock.restrict(rules)
    kernel.keep_capabilities(*((kernel.CAP_DAC_READ_SEARCH,) if settings.reach else ()))
    os.closerange(FIRST_OWN + job["own"], 1024)
    _limit(resource.RLIMIT_AS, size + job["memory"])
    _limit(resource.RLIMIT_CPU, int(job["cpu"]) + 1)
    _limit(resource.RLIMIT_FSIZE, job["files"])
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    _limit(resource.RLIMIT_STACK, STACK_BYTES)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_MEMLOCK, 0)
    if full or settings.user is not None:
        _limit(resource.RLIMIT_NPROC, job["threads"])
    seccomp.install(filter_program)


def _limit(kind: int, most: int) -> None:
    """Soft and hard, but never above what the host itself has."""
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(kind, (most, most))
