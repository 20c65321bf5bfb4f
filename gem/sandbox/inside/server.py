"""A process that communicates through its standard streams, in namespaces of its own: an MCP server, for example.

The host starts this program instead of the server (`gem.sandbox.process_confinement`), with the settings in a variable
of its environment, which other users cannot read. The first process stays on the host and forwards the permitted
connections (`inside.proxy`); the second leaves the host and is process 1 of the namespaces; the third becomes the
server, with the standard streams of the first. When one of them ends, all end: the first holds one end of a pair of
sockets for as long as it lives, and process 1 watches the other.
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
from typing import Any, NoReturn

from . import proxy
from .confinement import kernel, limits, namespaces, root, seccomp, shell_filter

SETTINGS_VARIABLE = "GEM_CONFINED_SERVER"
"""Environment variable with the settings as JSON."""
POLL_SECONDS = 0.25
"""Interval at which the server's memory is measured."""
MAX_ERROR_BYTES = 2000
"""How much of the end of the server's standard error is repeated when it fails."""
MAX_LINE_BYTES = 8 << 20
"""Size limit of a message, which is one line. The host joins its pieces, which takes the square of their number."""
DRAIN_SECONDS = 2.0
"""How long the server's remaining output is forwarded after its end."""
MAX_OPEN_FILES = 256
EXIT_MEMORY, EXIT_BROKEN = 252, 253
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


def main() -> None:
    """Started by the host; ends together with the server, with its exit code, and reports errors on standard error."""
    settings = json.loads(os.environ.pop(SETTINGS_VARIABLE))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")  # when the host's memory is full, the kernel ends sandboxes first
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    line, child_line = socket.socketpair()
    user, group = os.geteuid(), os.getegid()
    child = kernel.clone(namespaces.ALL | (kernel.NEWUSER if user else 0))
    if child:
        child_line.close()
        _serve_network(child, line, settings)
    line.close()
    try:
        if user:
            kernel.map_user("/proc/self", None, user, group)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        socket.sethostname("server")
        _supervise(settings, child_line)
    except BaseException as error:  # noqa: BLE001 (after any failure here, no server may run)
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.stderr.flush()
    finally:
        os._exit(EXIT_BROKEN)


# ------------------------------------------------------------------ on the host


def _serve_network(child: int, line: socket.socket, settings: dict[str, Any]) -> NoReturn:
    """Forward connections as long as the server runs, without the privileges that made its namespaces.

    Args:
        child: the process id of process 1 of the namespaces.
        line: the socket on which it sends the proxy's listening socket. It stays open until this process ends.
    """
    null = os.open("/dev/null", os.O_RDWR)
    for stream in (0, 1):  # only the server may hold its streams, so that their reader sees its end
        os.dup2(null, stream)
    if settings["network"]:
        _, fds, _, _ = socket.recv_fds(line, 1, 1)
        if fds:
            proxy.start(socket.socket(fileno=fds[0]), settings["network"], settings["engine_folder"])
    proxy_user = settings["proxy_user"]
    if proxy_user is not None:
        os.setgroups([])
        os.setresgid(proxy_user, proxy_user, proxy_user)
        os.setresuid(proxy_user, proxy_user, proxy_user)
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)  # the change of user has reset it
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status) % 256)


# ------------------------------------------------------------------ process 1


def _supervise(settings: dict[str, Any], line: socket.socket) -> NoReturn:
    """Prepare the file system, start the server in it, and watch its memory until it ends."""
    user = settings["user"]
    root.enter_new_root(
        settings["readable"],
        user=user,
        scratch={settings["home"]: settings["files_bytes"]},
        links=settings["links"],
        files=settings["files"],
        writable=settings["writable"],
    )
    if settings["network"]:
        socket.send_fds(line, [b"."], [_make_listener().detach()])
    errors, server_errors = os.pipe()
    output, server_output = os.pipe()
    server = os.fork()
    if server == 0:
        _become_server(settings, server_output, server_errors)
    for fd in (server_errors, server_output):
        os.close(fd)
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    forwarding = threading.Thread(target=_forward_output, args=(output, server), daemon=True)
    forwarding.start()
    error_output, code = _watch(server, errors, line, settings["memory_bytes"])
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    forwarding.join(DRAIN_SECONDS)
    if code:
        sys.stderr.write(error_output.decode("utf-8", "replace").strip() + "\n")
        sys.stderr.flush()
    os._exit(code)


def _forward_output(output: int, server: int) -> None:
    """Forward what the server writes to the host; a line without end would fill the host's memory."""
    line_bytes = 0
    with contextlib.suppress(OSError):  # the host has ended
        while data := os.read(output, 1 << 16):
            newline = data.rfind(b"\n")
            line_bytes = line_bytes + len(data) if newline < 0 else len(data) - newline - 1
            if line_bytes > MAX_LINE_BYTES:
                os.kill(server, signal.SIGKILL)
                break
            view = memoryview(data)
            while view:
                view = view[os.write(1, view) :]
    os.dup2(0, 1)  # closes the pipe, so that the host sees the end


def _make_listener() -> socket.socket:
    """The listening socket of the proxy, at the only address in the server's network namespace."""
    listener = socket.socket(socket.AF_INET)
    name = struct.pack("16sh", b"lo", 0)
    flags = struct.unpack("16sh", fcntl.ioctl(listener, _SIOCGIFFLAGS, name))[1]
    fcntl.ioctl(listener, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | _IFF_UP))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", proxy.PORT))
    listener.listen(64)
    return listener


def _watch(server: int, errors: int, line: socket.socket, max_memory_bytes: int) -> tuple[bytearray, int]:
    """The end of what the server wrote to its standard error, and its exit code.

    Args:
        line: readable as soon as the process on the host has ended. The kernel cannot tell process 1 by a signal: the
            process on the host is another user by then, who may not send it one.
    """
    error_output = bytearray()
    watched: list[int | socket.socket] = [line, errors]
    while True:
        readable = select.select(watched, [], [], POLL_SECONDS)[0]
        if line in readable:
            return error_output, EXIT_BROKEN
        if errors in readable:
            data = os.read(errors, 1 << 16)
            error_output += data
            del error_output[:-MAX_ERROR_BYTES]
            if not data:
                watched.remove(errors)  # the server has closed its standard error
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return error_output, EXIT_BROKEN
            if pid == server:
                error_output += _read_available(errors)
                return error_output[-MAX_ERROR_BYTES:], os.waitstatus_to_exitcode(status) % 256
            if pid == 0:
                break
        if limits.resident_bytes() > max_memory_bytes:
            return bytearray(f"It used more than {max_memory_bytes >> 20} MiB of memory.".encode()), EXIT_MEMORY


def _read_available(fd: int) -> bytes:
    """What a pipe holds now, without waiting, because other processes may keep it open."""
    os.set_blocking(fd, False)
    with contextlib.suppress(BlockingIOError):
        return os.read(fd, 1 << 16)
    return b""


# ------------------------------------------------------------------ the server


def _become_server(settings: dict[str, Any], output: int, errors: int) -> NoReturn:
    """In the child: drop all privileges, set the limits, then become the server."""
    try:
        os.setsid()
        os.dup2(output, 1)
        os.dup2(errors, 2)
        os.closerange(3, 1 << 20)
        limits.drop_privileges(settings["user"])
        limits.set_limit(resource.RLIMIT_CPU, settings["cpu_seconds"])
        # RLIMIT_DATA instead of RLIMIT_AS, because some servers reserve much more memory than they use.
        limits.set_limit(resource.RLIMIT_DATA, settings["memory_bytes"])
        limits.set_limit(resource.RLIMIT_FSIZE, settings["files_bytes"])
        limits.set_limit(resource.RLIMIT_NOFILE, MAX_OPEN_FILES)
        limits.set_limit(resource.RLIMIT_CORE, 0)
        limits.set_limit(resource.RLIMIT_MEMLOCK, 0)
        limits.set_limit(resource.RLIMIT_NPROC, settings["processes"])
        os.chdir(settings["cwd"])
        seccomp.install(shell_filter.build(internet=bool(settings["network"])))
        os.execve(settings["argv"][0], settings["argv"], settings["env"])  # noqa: S606 (this process is confined)
    except BaseException as error:  # noqa: BLE001 (reported by process 1, which reads this)
        os.write(2, f"{type(error).__name__}: {error}".encode())
    finally:
        os._exit(EXIT_BROKEN)
