"""One command of a shell, in namespaces of its own; what it leaves in its working directory is read back.

The host starts this program for each command (`gem.sandbox.shell`) and hands it a job on standard input. It leaves the
host behind, becomes process 1 of its own process namespace, and starts the shell as somebody without rights. When the
shell has ended, or has used up its time or memory, process 1 kills whatever is still there, reads the tree and writes
the answer to standard output. Nothing of a command outlives it.
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

from .confinement import bounds, kernel, namespaces, root, seccomp, shell_filter
from .files import tree
from .settings import HOME

STATE = "/run"
SCRIPT = (
    'source /run/before; cd -- "$1" 2>/dev/null; '
    "trap 'code=$?; { pwd; export -p; } >/run/after 2>/dev/null; exit $code' EXIT; "
    'eval "$2"'
)
"""What bash is started with: the variables and the directory of the command before, the command, what to remember."""
TICK = 0.02
"""Seconds between two looks at the processes."""
FLOOD = 64
"""A command that writes so many times what is kept of its output is ended."""
KEPT_OF_SHELL = 32 << 10
"""Bytes of variables and directory that the next command gets."""
OPEN_FILES = 256


def main() -> None:
    """Called by the host; the job comes on standard input, the answer goes to standard output."""
    job = json.loads(sys.stdin.buffer.read())
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")  # if memory runs out on the host, this is what has to go
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    user = os.geteuid()
    namespaces.become_alone("terminal")
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    answer = _keep(job, job["user"] if user == 0 else user)
    sys.stdout.buffer.write(json.dumps(answer).encode())
    sys.stdout.flush()
    os._exit(0)


def _keep(job: dict[str, Any], user: int) -> dict[str, Any]:
    """Process 1: make the place, run the shell in it, clear up, and say what came of it."""
    _make_root(job, user)
    tree.write(HOME, job["tree"], user)
    _write_state(job, user)
    reading, writing = os.pipe()
    shell = os.fork()
    if shell == 0:
        _become_shell(job, user, writing)
    os.close(writing)
    watch = Watch(job, shell, reading)
    status, code = watch.until_the_end()
    answer: dict[str, Any] = {
        "status": status,
        "code": code,
        "output": watch.kept(),
        "tree": None,
        "shell": "",
        "said": "",
    }
    try:
        answer["tree"] = tree.read(HOME, most_bytes=job["kept_bytes"], most_entries=job["kept_entries"])
    except tree.TooBig as error:
        answer["status"], answer["said"] = "files", str(error)
    except OSError as error:  # such as a path that is too long
        answer["status"], answer["said"] = "files", f"something that cannot be read ({error.strerror})"
    answer["shell"] = _read_state()
    return answer


# ------------------------------------------------------------------ the place


def _make_root(job: dict[str, Any], user: int) -> None:
    """A root with the system's programs, and file systems in memory to write to."""
    scratch = {HOME: job["disk_bytes"], "/tmp": job["disk_bytes"], STATE: 1 << 20}  # noqa: S108
    root.leave_the_host(job["readable"], user=user, scratch=scratch, links=job["links"], files=job["files"])


def _write_state(job: dict[str, Any], user: int) -> None:
    for name in ("before", "after"):
        with open(f"{STATE}/{name}", "w") as file:
            file.write(job["shell"].partition("\n")[2] if name == "before" else "")
        os.chown(f"{STATE}/{name}", user, user)


def _read_state() -> str:
    """What the shell wrote down at its end: its directory, then its variables; empty if it could not."""
    try:
        with open(os.open(f"{STATE}/after", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            text = file.read(KEPT_OF_SHELL + 1).decode("utf-8", "replace")
    except OSError:
        return ""
    return text if len(text) <= KEPT_OF_SHELL else ""


# ------------------------------------------------------------------ the shell


def _become_shell(job: dict[str, Any], user: int, output: int) -> NoReturn:
    """In the child: give up every right, then become bash."""
    try:
        os.setsid()
        for place in (1, 2):
            os.dup2(output, place)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        os.closerange(3, 1 << 20)
        bounds.give_up_rights(user)
        bounds.limit(resource.RLIMIT_CPU, int(job["seconds"]) + 1)
        bounds.limit(resource.RLIMIT_AS, job["memory_bytes"])
        bounds.limit(resource.RLIMIT_FSIZE, job["disk_bytes"])
        bounds.limit(resource.RLIMIT_NOFILE, OPEN_FILES)
        bounds.limit(resource.RLIMIT_CORE, 0)
        bounds.limit(resource.RLIMIT_MEMLOCK, 0)
        bounds.limit(resource.RLIMIT_NPROC, job["processes"])
        os.chdir(HOME)
        seccomp.install(shell_filter.build())
        folder = job["shell"].partition("\n")[0] or HOME
        arguments = ["bash", "--noprofile", "--norc", "-c", SCRIPT, "bash", folder, job["command"]]
        os.execve("/bin/bash", arguments, job["variables"])  # noqa: S606 (that is what it is for)
    finally:
        os._exit(125)


class Watch:
    """Reads what the command writes, and ends it when it has had enough of time, memory or output."""

    def __init__(self, job: dict[str, Any], shell: int, reading: int) -> None:
        self._job, self._shell, self._reading = job, shell, reading
        self._most: int = job["output_bytes"]
        self._head, self._tail, self._total = bytearray(), bytearray(), 0
        self._ends = time.monotonic() + job["seconds"]
        self._code: int | None = None

    def until_the_end(self) -> tuple[str, int | None]:
        """How it ended (`ended`, `timeout`, `memory` or `output`), and the exit code of the shell."""
        status = ""
        while not status and self._code is None:
            if select.select([self._reading], [], [], TICK)[0]:
                self._take()
            self._reap()
            status = self._excess()
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        self._reap_all()
        while self._take():
            pass
        return status or "ended", None if status else self._code

    def _excess(self) -> str:
        if self._code is not None:
            return ""
        if time.monotonic() >= self._ends:
            return "timeout"
        if self._total > FLOOD * self._most:
            return "output"
        return "memory" if bounds.resident() > self._job["memory_bytes"] else ""

    def _take(self) -> bool:
        """Read what there is; False at the end."""
        data = os.read(self._reading, 1 << 16)
        self._total += len(data)
        room = self._most // 2 - len(self._head)
        self._head += data[:room]
        self._tail += data[max(room, 0) :]
        del self._tail[: -self._most // 2]
        return bool(data) and self._total <= 2 * FLOOD * self._most

    def kept(self) -> str:
        """The beginning and the end of what was written."""
        left_out = self._total - len(self._head) - len(self._tail)
        head, tail = (part.decode("utf-8", "replace") for part in (self._head, self._tail))
        return f"{head}\n[{left_out:,} bytes left out]\n{tail}" if left_out else head + tail

    def _reap(self) -> None:
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
