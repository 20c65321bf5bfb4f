"""A server that talks through its standard streams, in namespaces of its own.

The host starts this program instead of the server (`gem.sandbox.mcp_confinement`), with the settings in a variable of
its environment, which other users cannot read. The first process stays on the host and carries the connections that are
allowed (`inside.proxy`); the second leaves the host and is process 1 of the namespaces; the third becomes the server,
with the standard streams of the first. When one of them ends, all end.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import threading
import time
from typing import Any, NoReturn

from . import bounds, kernel, namespaces, place, proxy, refusals, seccomp

SETTINGS = "GEM_CONFINED_SERVER"
TICK = 0.25
"""Seconds between two looks at the memory."""
KEPT_OF_COMPLAINTS = 2000
"""Bytes of the server's standard error that are repeated when it fails: its end."""
MAX_LINE = 32 << 20
"""Bytes of a message: one line."""
LAST_WORDS_SECONDS = 2.0
OPEN_FILES = 256
EXIT_MEMORY, EXIT_BROKEN = 252, 253
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


def main() -> None:
    """Called by the host; ends when the server does, with its exit code, and complains on standard error."""
    settings = json.loads(os.environ.pop(SETTINGS))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")  # if memory runs out on the host, this is what has to go
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    ours, theirs = socket.socketpair()
    user, group = os.geteuid(), os.getegid()
    child = kernel.clone(namespaces.ALL | (kernel.NEWUSER if user else 0))
    if child:
        theirs.close()
        _stay(child, ours, settings)
    ours.close()
    try:
        if user:
            kernel.map_user("/proc/self", None, user, group)
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        socket.sethostname("server")
        _keep(settings, theirs)
    except BaseException as error:  # noqa: BLE001 (whatever it is, no server may run now)
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.stderr.flush()
    finally:
        os._exit(EXIT_BROKEN)


# ------------------------------------------------------------------ on the host


def _stay(child: int, line: socket.socket, settings: dict[str, Any]) -> NoReturn:
    """Carry connections as long as the server lives, without the rights that made its place."""
    nothing = os.open("/dev/null", os.O_RDWR)
    for stream in (0, 1):  # they are the server's; its end has to be seen by who reads them
        os.dup2(nothing, stream)
    if settings["network"]:
        _, fds, _, _ = socket.recv_fds(line, 1, 1)
        if fds:
            proxy.start(socket.socket(fileno=fds[0]), settings["network"], settings["engine"])
    if settings["carrier"] is not None:
        os.setgroups([])
        os.setresgid(settings["carrier"], settings["carrier"], settings["carrier"])
        os.setresuid(settings["carrier"], settings["carrier"], settings["carrier"])
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)  # the change of user undid it
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status) % 256)


# ------------------------------------------------------------------ process 1


def _keep(settings: dict[str, Any], line: socket.socket) -> NoReturn:
    """Make the place, start the server in it, and see to its memory until it ends."""
    user = settings["user"]
    place.leave_the_host(
        settings["readable"],
        user=user,
        scratch={settings["home"]: settings["files_bytes"]},
        links=settings["links"],
        files=settings["files"],
        writable=settings["writable"],
    )
    if settings["network"]:
        socket.send_fds(line, [b"."], [_listener().detach()])
    line.close()
    reading, writing = os.pipe()
    answers, answering = os.pipe()
    server = os.fork()
    if server == 0:
        _become(settings, answering, writing)
    for fd in (writing, answering):
        os.close(fd)
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    passing = threading.Thread(target=_pass_on, args=(answers, server), daemon=True)
    passing.start()
    complaints, code = _watch(server, reading, settings["memory_bytes"])
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    passing.join(LAST_WORDS_SECONDS)
    if code:
        sys.stderr.write(complaints.decode("utf-8", "replace").strip() + "\n")
        sys.stderr.flush()
    os._exit(code)


def _pass_on(answers: int, server: int) -> None:
    """What the server writes, to the host; a line that has no end would fill the memory of who reads it."""
    line = 0
    with contextlib.suppress(OSError):  # the host has gone
        while data := os.read(answers, 1 << 16):
            last = data.rfind(b"\n")
            line = line + len(data) if last < 0 else len(data) - last - 1
            if line > MAX_LINE:
                os.kill(server, signal.SIGKILL)
                break
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(1, rest) :]
    os.dup2(0, 1)  # so that the host sees the end


def _listener() -> socket.socket:
    """Where the server finds the proxy: the only address of its network."""
    listener = socket.socket(socket.AF_INET)
    name = struct.pack("16sh", b"lo", 0)
    flags = struct.unpack("16sh", fcntl.ioctl(listener, _SIOCGIFFLAGS, name))[1]
    fcntl.ioctl(listener, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | _IFF_UP))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", proxy.PORT))
    listener.listen(64)
    return listener


def _watch(server: int, reading: int, most: int) -> tuple[bytearray, int]:
    """The end of what the server wrote to its standard error, and its exit code."""
    said = bytearray()
    while True:
        if select.select([reading], [], [], TICK)[0]:
            data = os.read(reading, 1 << 16)
            said += data
            del said[:-KEPT_OF_COMPLAINTS]
            if not data:
                time.sleep(TICK)  # it closed its standard error
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return said, EXIT_BROKEN
            if pid == server:
                said += _rest(reading)
                return said[-KEPT_OF_COMPLAINTS:], os.waitstatus_to_exitcode(status) % 256
            if pid == 0:
                break
        if bounds.resident() > most:
            return bytearray(f"It used more than {most >> 20} MiB of memory.".encode()), EXIT_MEMORY


def _rest(reading: int) -> bytes:
    """What is still in the pipe; others may hold it open."""
    os.set_blocking(reading, False)
    with contextlib.suppress(BlockingIOError):
        return os.read(reading, 1 << 16)
    return b""


# ------------------------------------------------------------------ the server


def _become(settings: dict[str, Any], answering: int, complaints: int) -> NoReturn:
    """In the child: give up every right, then become the server."""
    try:
        os.setsid()
        os.dup2(answering, 1)
        os.dup2(complaints, 2)
        os.closerange(3, 1 << 20)
        bounds.give_up_rights(settings["user"])
        bounds.limit(resource.RLIMIT_CPU, settings["cpu_seconds"])
        bounds.limit(resource.RLIMIT_DATA, settings["memory_bytes"])  # not AS: some reserve much and use little
        bounds.limit(resource.RLIMIT_FSIZE, settings["files_bytes"])
        bounds.limit(resource.RLIMIT_NOFILE, OPEN_FILES)
        bounds.limit(resource.RLIMIT_CORE, 0)
        bounds.limit(resource.RLIMIT_MEMLOCK, 0)
        bounds.limit(resource.RLIMIT_NPROC, settings["processes"])
        os.chdir(settings["cwd"])
        seccomp.install(refusals.build(internet=bool(settings["network"])))
        os.execve(settings["argv"][0], settings["argv"], settings["env"])  # noqa: S606 (that is what it is for)
    except BaseException as error:  # noqa: BLE001 (said by the process that reads this)
        os.write(2, f"{type(error).__name__}: {error}".encode())
    finally:
        os._exit(EXIT_BROKEN)
