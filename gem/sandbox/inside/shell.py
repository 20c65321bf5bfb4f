"""One command of a shell, in namespaces of its own; what it leaves in its working directory is read back.

The host starts this program for each command (`gem.sandbox.shell`) and passes a job on standard input. The program
leaves the host, becomes process 1 of its own process namespace, and starts the shell as a user without privileges. When
the shell has ended, or has used up its time or memory, process 1 kills all remaining processes, reads the tree and
writes the answer to standard output. No process of a command outlives it.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any, NoReturn

from .confinement import kernel, limits, namespaces, root, seccomp, shell_filter
from .files import tree
from .settings import HOME

STATE_FOLDER = "/run"
"""Holds the shell's state before the command and after it."""
SCRIPT = (
    'source /run/before; cd -- "$1" 2>/dev/null; '
    "trap 'code=$?; { pwd; export -p; } >/run/after 2>/dev/null; exit $code' EXIT; "
    'eval "$2"'
)
"""The script that bash is started with: it restores the variables and the directory of the previous command, runs the
command, and saves the state at its end."""
POLL_SECONDS = 0.02
"""Interval at which the processes are checked."""
FLOOD_FACTOR = 64
"""A command that writes this many times `output_bytes` is ended."""
MAX_STATE_BYTES = 32 << 10
"""Size limit of the variables and the directory that the next command inherits."""
MAX_OPEN_FILES = 256


def main() -> None:
    """Started by the host; the job comes on standard input, the answer goes to standard output."""
    job = json.loads(sys.stdin.buffer.read())
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")  # when the host's memory is full, the kernel ends sandboxes first
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    user = os.geteuid()
    namespaces.enter_new_namespaces("terminal")
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    answer = _run(job, job["user"] if user == 0 else user)
    sys.stdout.buffer.write(json.dumps(answer).encode())
    sys.stdout.flush()
    os._exit(0)


def _run(job: dict[str, Any], user: int) -> dict[str, Any]:
    """Process 1: prepare the file system, run the shell in it, and read what it left behind."""
    _make_root(job, user)
    tree.write(HOME, job["tree"], user)
    for folder in (HOME, "/tmp"):  # noqa: S108 (its own, in memory)
        os.utime(folder, (job["time"], job["time"]))
    _write_state(job, user)
    output, shell_output = os.pipe()
    shell = os.fork()
    if shell == 0:
        _become_shell(job, user, shell_output)
    os.close(shell_output)
    monitor = ShellMonitor(job, shell, output)
    status, code = monitor.wait()
    answer: dict[str, Any] = {
        "status": status,
        "code": code,
        "output": monitor.output(),
        "tree": None,
        "shell": "",
        "excess": "",
    }
    try:
        answer["tree"] = tree.read(HOME, max_bytes=job["tree_bytes"], max_entries=job["tree_entries"])
    except tree.TooBig as error:
        answer["status"], answer["excess"] = "files", str(error)
    except OSError as error:  # for example a path that is too long
        answer["status"], answer["excess"] = "files", f"something that cannot be read ({error.strerror})"
    answer["shell"] = _read_state()
    return answer


# ------------------------------------------------------------------ the file system


def _make_root(job: dict[str, Any], user: int) -> None:
    """Enter a root with the system's programs, and with file systems in memory to write to."""
    scratch = {HOME: job["disk_bytes"], "/tmp": job["disk_bytes"], STATE_FOLDER: 1 << 20}  # noqa: S108
    root.enter_new_root(
        job["readable"], user=user, scratch=scratch, links=job["links"], files=job["files"], time=job["time"]
    )


def _write_state(job: dict[str, Any], user: int) -> None:
    for name in ("before", "after"):
        with open(f"{STATE_FOLDER}/{name}", "w") as file:
            file.write(job["shell"].partition("\n")[2] if name == "before" else "")
        os.chown(f"{STATE_FOLDER}/{name}", user, user)


def _read_state() -> str:
    """What the shell saved at its end: its directory, then its variables; empty if it could not."""
    try:
        with open(os.open(f"{STATE_FOLDER}/after", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            text = file.read(MAX_STATE_BYTES + 1).decode("utf-8", "replace")
    except OSError:
        return ""
    return text if len(text) <= MAX_STATE_BYTES else ""


# ------------------------------------------------------------------ the shell


def _become_shell(job: dict[str, Any], user: int, output: int) -> NoReturn:
    """In the child: drop all privileges, set the limits, then become bash."""
    try:
        os.setsid()
        for stream in (1, 2):
            os.dup2(output, stream)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        os.closerange(3, 1 << 20)
        limits.drop_privileges(user)
        limits.set_limit(resource.RLIMIT_CPU, int(job["seconds"]) + 1)
        limits.set_limit(resource.RLIMIT_AS, job["memory_bytes"])
        limits.set_limit(resource.RLIMIT_FSIZE, job["disk_bytes"])
        limits.set_limit(resource.RLIMIT_NOFILE, MAX_OPEN_FILES)
        limits.set_limit(resource.RLIMIT_CORE, 0)
        limits.set_limit(resource.RLIMIT_MEMLOCK, 0)
        limits.set_limit(resource.RLIMIT_NPROC, job["processes"])
        os.chdir(HOME)
        seccomp.install(shell_filter.build())
        folder = job["shell"].partition("\n")[0] or HOME
        arguments = ["bash", "--noprofile", "--norc", "-c", SCRIPT, "bash", folder, job["command"]]
        os.execve("/bin/bash", arguments, job["variables"])  # noqa: S606 (this process is confined)
    finally:
        os._exit(125)


class ShellMonitor:
    """Reads what the command writes, and ends it when it has used up its time, memory or output.

    Args:
        shell: the process id of the shell.
        output: the reading end of the pipe that is the command's standard output and standard error.
    """

    def __init__(self, job: dict[str, Any], shell: int, output: int) -> None:
        self._job, self._shell, self._output = job, shell, output
        self._max_bytes: int = job["output_bytes"]
        self._head, self._tail, self._total = bytearray(), bytearray(), 0
        self._deadline = time.monotonic() + job["seconds"]
        self._code: int | None = None

    def wait(self) -> tuple[str, int | None]:
        """How the command ended (`ended`, `timeout`, `memory` or `output`), and the exit code of the shell."""
        status = ""
        while not status and self._code is None:
            if select.select([self._output], [], [], POLL_SECONDS)[0]:
                self._read()
            self._reap()
            status = self._excess()
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        self._reap_all()
        while self._read():
            pass
        return status or "ended", None if status else self._code

    def _excess(self) -> str:
        """What the command has used too much of; empty if it is within its limits, or has ended."""
        if self._code is not None:
            return ""
        if time.monotonic() >= self._deadline:
            return "timeout"
        if self._total > FLOOD_FACTOR * self._max_bytes:
            return "output"
        return "memory" if limits.resident_bytes() > self._job["memory_bytes"] else ""

    def _read(self) -> bool:
        """Read available output; False at its end."""
        data = os.read(self._output, 1 << 16)
        self._total += len(data)
        room = self._max_bytes // 2 - len(self._head)
        self._head += data[:room]
        self._tail += data[max(room, 0) :]
        del self._tail[: -self._max_bytes // 2]
        return bool(data) and self._total <= 2 * FLOOD_FACTOR * self._max_bytes

    def output(self) -> str:
        """The beginning and the end of what was written."""
        omitted = self._total - len(self._head) - len(self._tail)
        head, tail = (part.decode("utf-8", "replace") for part in (self._head, self._tail))
        return f"{head}\n[{omitted:,} bytes left out]\n{tail}" if omitted else head + tail

    def _reap(self) -> None:
        """Collect the exit codes of all children that have ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._shell:
                self._code = os.waitstatus_to_exitcode(status)

    def _reap_all(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)
