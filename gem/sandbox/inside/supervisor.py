"""Supervises the process of another program's sandbox: ends it in time, on request, and together with the host.

The host starts this program with a socket and the command of the sandbox. When the host hands the job over, it sends
the job's time limits; the report on the job's end goes back as one message, in the form of the zygote's reports.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any, NoReturn

from .confinement import kernel
from .files import cleanup
from .settings import EXIT_BROKEN, EXIT_MEMORY, MAX_MESSAGE_BYTES

SIGNAL_OFFSET = 128
"""What runtimes add to the number of the signal that ended their program to get an exit code."""


def main() -> NoReturn:
    """Started by the host with the number of the socket, the folder to remove at the end, and the command."""
    control, scratch, command = socket.socket(fileno=int(sys.argv[1])), sys.argv[2], sys.argv[3:]
    child = os.fork()
    if child == 0:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        os.execv(command[0], command)  # noqa: S606 (the host's command)
    null = os.open("/dev/null", os.O_RDWR)
    for stream in range(3):  # only the program may hold its streams, so that the host sees when it closes them
        os.dup2(null, stream)
    end, code, usage = _watch(control, child)
    report = {"end": end, "code": code, "cpu": usage.ru_utime + usage.ru_stime, "memory": 0, "message": ""}
    try:
        control.send(json.dumps(report).encode())
    finally:
        remove_folder(scratch)
        os._exit(0)


def remove_folder(folder: str) -> None:
    """Remove a folder with its content."""
    cleanup.empty_folder(folder)
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def _watch(control: socket.socket, child: int) -> tuple[str, int, Any]:
    """How the child ended, in the words of `zygote`, its exit code, and its resource usage."""
    child_fd = os.pidfd_open(child)
    poll = select.poll()
    poll.register(child_fd, select.POLLIN)
    poll.register(control, select.POLLIN)
    deadline, cpu_seconds, end = float("inf"), float("inf"), "exit"
    while True:
        seconds = deadline - time.monotonic()
        events = dict(poll.poll(None if seconds == float("inf") else max(0.0, seconds) * 1000 + 1))
        if child_fd in events:
            break
        if control.fileno() in events:
            message = json.loads(control.recv(MAX_MESSAGE_BYTES) or b"{}")
            if "wall" in message:
                deadline, cpu_seconds = time.monotonic() + message["wall"], message["cpu"]
                continue
            end = "killed"
        elif time.monotonic() < deadline:
            continue
        else:
            end = "timeout"
        os.kill(child, signal.SIGKILL)
        break
    _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if end == "exit":
        end = _interpret(code, is_cpu_spent=usage.ru_utime + usage.ru_stime >= cpu_seconds)
    return end, _signed(code), usage


def _signed(code: int) -> int:
    """An exit code, negative where it stands for a signal."""
    return SIGNAL_OFFSET - code if SIGNAL_OFFSET < code < SIGNAL_OFFSET + 65 else code


def _interpret(code: int, *, is_cpu_spent: bool) -> str:
    """How a process ended, from its exit code."""
    if code == EXIT_MEMORY:
        return "memory"
    if code == EXIT_BROKEN:
        return "signal"
    signal_number = -_signed(code)
    if signal_number == signal.SIGXCPU or (signal_number == signal.SIGKILL and is_cpu_spent):
        return "timeout"
    if signal_number == signal.SIGXFSZ:
        return "files"
    return "signal" if signal_number > 0 else "exit"
