"""The process that holds a warm interpreter: it forks one process for every run, before the run is asked for.

It is ours and never executes what it is given. The process of a run (see `confine`) waits, confined as far as it can
be beforehand, until a job arrives; the zygote passes it on, watches the clock and reports how it ended. Nothing of a
run outlives it. When the host goes away, so does everything here.
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
from .files import deleted, emptying
from .settings import EXIT_MEMORY, MAX_FDS, MAX_MESSAGE, Settings

WATCH_MS = 50
"""How often threads and files are counted where the kernel does not limit them (the level `landlock`)."""
NAMESPACES = kernel.NEWUSER | kernel.NEWNS | kernel.NEWPID | kernel.NEWIPC


@dataclass
class Waiting:
    """A process that is ready for a job."""

    pid: int
    alive: int
    """A descriptor that becomes readable when the process ends."""
    line: socket.socket


def serve(control: socket.socket, settings: Settings, proc: int) -> None:
    """Run jobs, one after the other, until the host closes the line or sends something odd."""
    calls = seccomp.build(alone=settings.level == "full")
    plan = confine.Plan(settings, proc, landlock.abi(), (os.getuid(), os.getgid()), calls)
    _preload(settings.preload)
    control.send(json.dumps({"ready": True, "landlock": plan.landlock, "pid": os.getpid()}).encode())
    while True:
        waiting = _fork(control, plan)
        message, fds = _receive(control)
        while "kill" in message:  # it came too late: that job had ended
            message, fds = _receive(control)
        if "preload" in message or not message:
            _end(waiting)
        if not message:
            _leave(settings)
            return
        if "preload" in message:
            _preload(message["preload"])
            control.send(json.dumps({"preloaded": message["preload"]}).encode())
            continue
        report = _run(control, waiting, message, fds, plan)
        with contextlib.suppress(BrokenPipeError):  # the host has gone: the next thing it does not say ends us
            control.send(json.dumps(report).encode())
        _empty(settings)


def _preload(modules: list[str]) -> None:
    """Import what runs are likely to need; what is not installed, or fails, is left to the run to stumble over."""
    for name in modules:
        with contextlib.suppress(Exception):  # whatever a package does at import
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # the pages stay shared with the runs


def _receive(line: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """A message and its file descriptors; nothing once the other side has gone."""
    data, fds, _, _ = socket.recv_fds(line, MAX_MESSAGE, MAX_FDS)
    return (json.loads(data) if data else {}), fds


def _fork(control: socket.socket, plan: confine.Plan) -> Waiting:
    """A process that confines itself and waits."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    size = _address_space(plan.proc)
    pid = kernel.clone(NAMESPACES) if plan.full else os.fork()
    if pid == 0:
        control.close()
        ours.close()
        confine.live(theirs, plan, size)
    theirs.close()
    return Waiting(pid, os.pidfd_open(pid), ours)


def _address_space(proc: int) -> int:
    """Bytes that this interpreter takes before the code of a run asks for any."""
    statm = os.open("self/statm", os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
    try:
        return int(os.read(statm, 64).split()[0]) * os.sysconf("SC_PAGE_SIZE")
    finally:
        os.close(statm)


def _run(
    control: socket.socket, waiting: Waiting, job: dict[str, Any], fds: list[int], plan: confine.Plan
) -> dict[str, Any]:
    """Pass a job on, wait for its end at most as long as it may take; report in plain words and numbers."""
    started = time.monotonic()
    with contextlib.suppress(OSError):  # it died while waiting: its exit status says so below
        socket.send_fds(waiting.line, [json.dumps(job).encode()], fds)
    for fd in fds:
        os.close(fd)
    ended = _watch(control, waiting, job, plan, started + job["wall"])
    complaint = _last_words(waiting) if ended == "exit" else ""
    code, usage = _reap(waiting)
    if ended == "exit":
        ended = "setup" if complaint else _meaning(code, usage.ru_utime + usage.ru_stime, job)
    return {
        "id": job["id"],
        "ended": ended,
        "code": code,
        "wall": time.monotonic() - started,
        "cpu": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss * 1024,
        "said": complaint,
    }


def _watch(control: socket.socket, waiting: Waiting, job: dict[str, Any], plan: confine.Plan, until: float) -> str:
    """How the wait ended: "exit", "timeout", "killed" (the host said so, or has gone), "files", "threads"."""
    poll = select.poll()
    poll.register(waiting.alive, select.POLLIN)
    poll.register(control, select.POLLIN)
    counting = not plan.full
    while True:
        left = until - time.monotonic()
        if left <= 0:
            return "timeout"
        left_ms = int(left * 1000) + 1
        events = dict(poll.poll(min(left_ms, WATCH_MS) if counting else left_ms))
        if waiting.alive in events:
            return "exit"
        if control.fileno() in events:
            message, _ = _receive(control)
            if not message or message.get("kill") == job["id"]:
                return "killed"
        if counting and _has_begun(waiting):
            excess = _excess(waiting, job, plan)
            if excess:
                return excess


def _has_begun(waiting: Waiting) -> bool:
    """Whether the code of the run is executed, or was. Until then the process is ours, and may not be looked at: it
    has not yet allowed that (`confine`). It gives up its end of the line before the code begins."""
    line = select.poll()
    line.register(waiting.line, 0)  # a hang-up is reported all the same
    return bool(line.poll(0))


def _excess(waiting: Waiting, job: dict[str, Any], plan: confine.Plan) -> str:
    """ "files" or "threads" if a run has more than it may, where the kernel does not see to that."""
    written = emptying.bytes_in(plan.settings.work, job["files"])
    if written <= job["files"]:
        written += deleted.bytes_held(plan.proc, waiting.pid, plan.settings.work, job["files"])
    if written > job["files"]:
        return "files"
    with contextlib.suppress(FileNotFoundError):  # it has ended meanwhile
        threads = os.stat(f"{waiting.pid}/task", dir_fd=plan.proc).st_nlink - 2
        return "threads" if threads > job["threads"] else ""
    return ""


def _meaning(code: int, cpu: float, job: dict[str, Any]) -> str:
    """What an exit status says."""
    if code == EXIT_MEMORY:
        return "memory"
    if code == -signal.SIGXCPU or (code == -signal.SIGKILL and cpu >= job["cpu"]):
        return "timeout"
    if code == -signal.SIGXFSZ:
        return "files"
    return "signal" if code < 0 else "exit"


def _last_words(waiting: Waiting) -> str:
    """What went wrong with the confinement; only before the code begins can the process say anything here."""
    waiting.line.setblocking(False)
    with contextlib.suppress(OSError):
        try:
            said = waiting.line.recv(MAX_MESSAGE)
        except ConnectionResetError:  # it ended before it took the job; what it said comes with the second call
            said = waiting.line.recv(MAX_MESSAGE)
        return said.decode(errors="replace")
    return ""


def _reap(waiting: Waiting) -> tuple[int, Any]:
    """Make sure that the process has ended; its exit code (negative: the signal) and what it used."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(waiting.alive, signal.SIGKILL)
    _, status, usage = os.wait4(waiting.pid, 0)
    os.close(waiting.alive)
    waiting.line.close()
    return os.waitstatus_to_exitcode(status), usage


def _end(waiting: Waiting) -> None:
    """Give up a process that no job reached."""
    _reap(waiting)


def _empty(settings: Settings) -> None:
    """Remove what a run left behind; at the level `full` that went with its own file system."""
    if settings.level == "full":
        return
    emptying.empty(settings.work)


def _leave(settings: Settings) -> None:
    """Remove the working directory, which a host that was killed cannot do any more."""
    _empty(settings)
    if settings.level != "full":
        os.chdir("/")
        with contextlib.suppress(OSError):
            os.rmdir(settings.work)
