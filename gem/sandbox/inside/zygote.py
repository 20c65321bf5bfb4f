"""The process with a warm interpreter: it forks a process for every run, in advance.

It is trusted and never executes a job's code. The process of a run (see `confine`) confines itself as far as possible
and waits until a job arrives; the zygote passes the job on, watches the time and reports how the run ended. No process
or file of a run outlives it. When the host ends, everything here ends.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import time
from dataclasses import dataclass
from typing import Any

from . import confine
from .confinement import kernel, landlock, seccomp
from .files import cleanup, unlinked
from .settings import EXIT_MEMORY, MAX_FDS, MAX_MESSAGE_BYTES, Settings

COUNT_INTERVAL_MS = 50
"""How often threads and files are counted where the kernel does not limit them (the level `landlock`)."""
NAMESPACES = kernel.NEWUSER | kernel.NEWNS | kernel.NEWPID | kernel.NEWIPC


@dataclass
class RunProcess:
    """A process that is ready for a job, or runs one."""

    pid: int
    pid_fd: int
    """A descriptor that becomes readable when the process ends."""
    line: socket.socket
    """The socket to the process, which is closed there before the code begins."""


def serve(control: socket.socket, settings: Settings, proc: int) -> None:
    """Run jobs, one after the other, until the host closes the socket.

    Args:
        control: the socket to the host.
        proc: a descriptor of the host's `/proc`.
    """
    call_filter = seccomp.build(is_isolated=settings.level == "full")
    plan = confine.ConfinementPlan(settings, proc, landlock.abi(), (os.getuid(), os.getgid()), call_filter)
    _preload(settings.preload)
    control.send(json.dumps({"ready": True, "landlock": plan.landlock_abi, "pid": os.getpid()}).encode())
    while _serve_one(control, plan):
        pass
    _leave(settings)


def _serve_one(control: socket.socket, plan: confine.ConfinementPlan) -> bool:
    """Fork a process, and do what the host asks for next. Returns False once the host has closed the socket.

    A process can read the frames that it was forked from. So this one begins without the last run's job and report.
    """
    process = _fork(control, plan)
    message, fds = _receive(control)
    while "kill" in message:  # the request came too late: that job has ended
        message, fds = _receive(control)
    if "preload" in message or not message:
        _reap(process)
        if message:
            _preload(message["preload"])
            control.send(json.dumps({"preloaded": message["preload"]}).encode())
        return bool(message)
    report = _run(control, process, message, fds, plan)
    with contextlib.suppress(BrokenPipeError):  # the host has ended, which the next `_receive` reports
        control.send(json.dumps(report).encode())
    _empty_work_folder(plan.settings)
    return True


def _preload(modules: list[str]) -> None:
    """Import what runs are likely to need. A module that is missing or fails is left for the run to report."""
    for name in modules:
        with contextlib.suppress(Exception):  # packages may raise anything at import
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # so that the memory pages stay shared with the runs


def _receive(line: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """A message and its file descriptors; an empty message once the other side has closed the socket."""
    data, fds, _, _ = socket.recv_fds(line, MAX_MESSAGE_BYTES, MAX_FDS)
    return (json.loads(data) if data else {}), fds


def _fork(control: socket.socket, plan: confine.ConfinementPlan) -> RunProcess:
    """Start a process that confines itself and waits for a job."""
    line, run_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    address_space = _address_space_bytes(plan.proc)
    pid = kernel.clone(NAMESPACES) if plan.has_namespaces else os.fork()
    if pid == 0:
        control.close()
        line.close()
        confine.run(run_end, plan, address_space)
    run_end.close()
    return RunProcess(pid, os.pidfd_open(pid), line)


def _address_space_bytes(proc: int) -> int:
    """Size of this interpreter's address space, before the code of a run asks for any."""
    statm = os.open("self/statm", os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
    try:
        return int(os.read(statm, 64).split()[0]) * os.sysconf("SC_PAGE_SIZE")
    finally:
        os.close(statm)


def _run(
    control: socket.socket, process: RunProcess, job: dict[str, Any], fds: list[int], plan: confine.ConfinementPlan
) -> dict[str, Any]:
    """Pass a job on, wait for its end within its time limit, and report how it ended."""
    started = time.monotonic()
    with contextlib.suppress(OSError):  # the process died while it waited; its exit status is reported below
        socket.send_fds(process.line, [json.dumps(job).encode()], fds)
    for fd in fds:
        os.close(fd)
    end = _watch(control, process, job, plan, started + job["wall"])
    setup_error = _read_setup_error(process) if end == "exit" else ""
    code, usage = _reap(process)
    if end == "exit":
        end = "setup" if setup_error else _interpret(code, usage.ru_utime + usage.ru_stime, job)
    return {
        "id": job["id"],
        "end": end,
        "code": code,
        "wall": time.monotonic() - started,
        "cpu": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss * 1024,
        "message": setup_error,
    }


def _watch(
    control: socket.socket, process: RunProcess, job: dict[str, Any], plan: confine.ConfinementPlan, deadline: float
) -> str:
    """How the wait ended: "exit", "timeout", "killed" (on the host's request or its end), "files" or "threads"."""
    poll = select.poll()
    poll.register(process.pid_fd, select.POLLIN)
    poll.register(control, select.POLLIN)
    must_count = not plan.has_namespaces
    while True:
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            return "timeout"
        milliseconds = int(seconds * 1000) + 1
        events = dict(poll.poll(min(milliseconds, COUNT_INTERVAL_MS) if must_count else milliseconds))
        if process.pid_fd in events:
            return "exit"
        if control.fileno() in events:
            message, _ = _receive(control)
            if not message or message.get("kill") == job["id"]:
                return "killed"
        if must_count and _has_begun(process):
            excess = _find_excess(process, job, plan)
            if excess:
                return excess


def _has_begun(process: RunProcess) -> bool:
    """Whether the code of the run is executed, or was.

    Until then the process is still trusted, and it cannot be inspected, because it has not allowed that yet (see
    `confine`). It closes its end of the socket before the code begins.
    """
    poll = select.poll()
    poll.register(process.line, 0)  # a hang-up is reported even without any events
    return bool(poll.poll(0))


def _find_excess(process: RunProcess, job: dict[str, Any], plan: confine.ConfinementPlan) -> str:
    """ "files" or "threads" if a run has more than it may, where the kernel does not limit that; else empty."""
    folder = plan.settings.work_folder
    size = cleanup.bytes_in(folder, job["files"])
    if size <= job["files"]:
        size += unlinked.bytes_held(plan.proc, process.pid, folder, job["files"])
    if size > job["files"]:
        return "files"
    with contextlib.suppress(FileNotFoundError):  # the process has ended meanwhile
        threads = os.stat(f"{process.pid}/task", dir_fd=plan.proc).st_nlink - 2
        return "threads" if threads > job["threads"] else ""
    return ""


def _interpret(code: int, cpu_seconds: float, job: dict[str, Any]) -> str:
    """How a run ended, from its exit code (negative: the signal)."""
    if code == EXIT_MEMORY:
        return "memory"
    if code == -signal.SIGXCPU or (code == -signal.SIGKILL and cpu_seconds >= job["cpu"]):
        return "timeout"
    if code == -signal.SIGXFSZ:
        return "files"
    return "signal" if code < 0 else "exit"


def _read_setup_error(process: RunProcess) -> str:
    """Why the process could not confine itself; empty if it could. Only before the code begins can it send this."""
    process.line.setblocking(False)
    with contextlib.suppress(OSError):
        try:
            message = process.line.recv(MAX_MESSAGE_BYTES)
        except ConnectionResetError:  # it ended before it took the job; its message comes with the second call
            message = process.line.recv(MAX_MESSAGE_BYTES)
        return message.decode(errors="replace")
    return ""


def _reap(process: RunProcess) -> tuple[int, Any]:
    """Make sure that the process has ended; its exit code (negative: the signal) and its resource usage."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(process.pid_fd, signal.SIGKILL)
    _, status, usage = os.wait4(process.pid, 0)
    os.close(process.pid_fd)
    process.line.close()
    return os.waitstatus_to_exitcode(status), usage


def _empty_work_folder(settings: Settings) -> None:
    """Remove what a run left behind; at the level `full` it went with the run's own file system."""
    if settings.level != "full":
        cleanup.empty_folder(settings.work_folder)


def _leave(settings: Settings) -> None:
    """Remove the working directory, in case the host was killed and cannot do it."""
    _empty_work_folder(settings)
    if settings.level != "full":
        os.chdir("/")
        with contextlib.suppress(OSError):
            os.rmdir(settings.work_folder)
