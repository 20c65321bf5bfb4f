"""Keeps another program's sandbox on a short leash: it ends in time, when the host says so, and with the host.

The host starts this program with a socket and the command of the sandbox. When the job is handed over the host sends
how long it may take; what came of it goes back as one message, as the zygote's reports do.
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
from .files import emptying
from .settings import EXIT_BROKEN, EXIT_MEMORY, MAX_MESSAGE

SIGNALLED = 128
"""What runtimes add to the number of the signal that ended their program."""


def main() -> NoReturn:
    """Called by the host with the number of the socket, the folder that is removed at the end, and the command."""
    control, scratch, command = socket.socket(fileno=int(sys.argv[1])), sys.argv[2], sys.argv[3:]
    child = os.fork()
    if child == 0:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        os.execv(command[0], command)  # noqa: S606 (that is what it is for)
    nothing = os.open("/dev/null", os.O_RDWR)
    for stream in range(3):  # they are the program's: their end has to be seen by the host
        os.dup2(nothing, stream)
    ended, code, usage = _watch(control, child)
    report = {"ended": ended, "code": code, "cpu": usage.ru_utime + usage.ru_stime, "memory": 0, "said": ""}
    try:
        control.send(json.dumps(report).encode())
    finally:
        remove(scratch)
        os._exit(0)


def remove(folder: str) -> None:
    """Remove a folder with what it holds."""
    emptying.empty(folder)
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def _watch(control: socket.socket, child: int) -> tuple[str, int, Any]:
    """How it ended, in the words of `zygote`, its exit code, and what it used."""
    alive = os.pidfd_open(child)
    poll = select.poll()
    poll.register(alive, select.POLLIN)
    poll.register(control, select.POLLIN)
    until, cpu, ended = float("inf"), float("inf"), "exit"
    while True:
        left = until - time.monotonic()
        events = dict(poll.poll(None if left == float("inf") else max(0.0, left) * 1000 + 1))
        if alive in events:
            break
        if control.fileno() in events:
            message = json.loads(control.recv(MAX_MESSAGE) or b"{}")
            if "wall" in message:
                until, cpu = time.monotonic() + message["wall"], message["cpu"]
                continue
            ended = "killed"
        elif time.monotonic() < until:
            continue
        else:
            ended = "timeout"
        os.kill(child, signal.SIGKILL)
        break
    _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return (_meaning(code, usage.ru_utime + usage.ru_stime >= cpu) if ended == "exit" else ended), _signed(code), usage


def _signed(code: int) -> int:
    """An exit code, negative where it stands for a signal."""
    return SIGNALLED - code if SIGNALLED < code < SIGNALLED + 65 else code


def _meaning(code: int, spent: bool) -> str:
    """What an exit code says."""
    if code == EXIT_MEMORY:
        return "memory"
    if code == EXIT_BROKEN:
        return "signal"
    number = -_signed(code)
    if number == signal.SIGXCPU or (number == signal.SIGKILL and spent):
        return "timeout"
    if number == signal.SIGXFSZ:
        return "files"
    return "signal" if number > 0 else "exit"
