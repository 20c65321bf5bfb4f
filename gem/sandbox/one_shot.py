"""One job in a sandbox that another program makes, such as gVisor's runtime."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from io import FileIO
from typing import Any

from gem.errors import SandboxUnavailable
from gem.sandbox.inside.one_shot import BEGINS, READY
from gem.sandbox.inside.settings import MAX_MESSAGE_BYTES
from gem.sandbox.inside.supervisor import remove_folder
from gem.sandbox.job import CHUNK_BYTES, OutputCollector, SandboxJob, SlotDied, is_readable
from gem.sandbox.limits import Level, Result
from gem.sandbox.slot import PACKAGE_FOLDER, make_result

COMMAND = "import sys; sys.path.insert(0, sys.argv.pop(1)); from inside.supervisor import main; main()"
START_TIMEOUT_SECONDS = 60.0


class OneShotProcess:
    """A process that waits in its sandbox for the one job that it will run (see `inside.one_shot`).

    Args:
        command: starts the sandbox, whose process has the command's standard streams.
        level: the level that results name.
        scratch: a folder that is removed at the end, even if the host is killed.
    """

    def __init__(self, command: list[str], level: Level, scratch: str) -> None:
        self.level = level
        self._scratch = scratch
        self._threads: list[threading.Thread] = []
        self._control, supervisor_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        (stdin, stdin_end), (stdout_end, stdout), (stderr_end, stderr) = os.pipe(), os.pipe(), os.pipe()
        self._in, self._out, self._err = FileIO(stdin_end, "w"), FileIO(stdout_end), FileIO(stderr_end)
        try:
            supervisor = [sys.executable, "-S", "-s", "-P", "-B", "-X", "utf8", "-c", COMMAND, PACKAGE_FOLDER]
            self._process = subprocess.Popen(  # noqa: S603 (our own interpreter and program)
                [*supervisor, str(supervisor_end.fileno()), scratch, *command],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
                cwd="/",
                pass_fds=(supervisor_end.fileno(),),
                start_new_session=True,  # so that Ctrl-C does not reach it
            )
        finally:
            supervisor_end.close()
            for fd in (stdin, stdout, stderr):
                os.close(fd)

    @property
    def pid(self) -> int:
        """The id of the process from which all others of this sandbox descend."""
        return self._process.pid

    def run(self, job: SandboxJob) -> Result:
        """Hand over the job and wait for its end.

        Raises:
            SandboxUnavailable: if the process reports that it cannot start or be confined; no code ran.
            SlotDied: if the sandbox ends without a message, or does not end the job in time.
        """
        unclaimed_fds = list(job.extra_fds)  # those that no thread has to close yet
        try:
            return self._run(job, unclaimed_fds)
        finally:
            for fd in unclaimed_fds:
                os.close(fd)

    def _run(self, job: SandboxJob, unclaimed_fds: list[int]) -> Result:
        self._expect(READY)
        limits = job.limits
        cpu_seconds = limits.cpu_seconds or limits.wall_seconds
        header = {
            "program": job.program,
            "bytes": len(job.code),
            "cpu": cpu_seconds,
            "memory": limits.memory_bytes,
            "files": limits.files_bytes,
            "threads": limits.threads,
        }
        data = json.dumps(header).encode() + b"\n" + job.code + job.stdin
        self._start_thread(self._write, data, unclaimed_fds.pop(0) if unclaimed_fds else None)
        self._expect(BEGINS)
        started = time.monotonic()
        with contextlib.suppress(OSError):  # the process may have ended already; its report tells how
            self._control.send(json.dumps({"wall": limits.wall_seconds, "cpu": cpu_seconds}).encode())
        if unclaimed_fds:
            self._start_thread(_copy_and_close, self._out, unclaimed_fds.pop())
        with _streams(job, self._out.fileno(), self._err.fileno()) as (out, err):
            collector = OutputCollector(job, out, err, self._control.fileno(), self._receive, self._stop)
            report = collector.collect()
        return make_result(report, collector, time.monotonic() - started, self.level)

    def _start_thread(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _expect(self, mark: bytes) -> None:
        """Wait for a mark of the process on its standard output; the code begins after the second mark."""
        if not is_readable(self._out.fileno(), START_TIMEOUT_SECONDS) or self._out.read(1) != mark:
            message = self._last_error_line()
            raise SandboxUnavailable(message) if message else SlotDied

    def _last_error_line(self) -> str:
        """End the process, and return the last line that it wrote to standard error."""
        self._kill()
        os.set_blocking(self._err.fileno(), False)
        lines = (self._err.read() or b"").decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def _write(self, data: bytes, pipe: int | None) -> None:
        """Write the job, then what another program writes into the pipe, and close the standard input."""
        view = memoryview(data)
        with contextlib.suppress(OSError), self._in:  # the program may end without reading all of it
            while view:
                view = view[self._in.write(view) :]
            if pipe is not None:
                _copy(pipe, self._in.fileno())
        if pipe is not None:
            os.close(pipe)

    def _stop(self) -> None:
        with contextlib.suppress(OSError):
            self._control.send(b"{}")

    def _receive(self) -> dict[str, Any]:
        data = self._control.recv(MAX_MESSAGE_BYTES)
        if not data:
            raise SlotDied
        report: dict[str, Any] = json.loads(data)
        return report

    def _kill(self) -> None:
        self._process.kill()  # the supervisor's children end with it
        self._process.wait()

    def end(self) -> None:
        """End the process and remove its folder; may be called twice."""
        self._kill()
        for thread in self._threads:
            thread.join()
        for handle in (self._control, self._in, self._out, self._err):
            handle.close()
        remove_folder(self._scratch)

    def abandon_after_fork(self) -> None:
        """See `Sandbox.abandon_after_fork`."""
        for handle in (self._control, self._in, self._out, self._err):
            handle.close()
        self._process.returncode = 0


def _copy_and_close(out: FileIO, pipe: int) -> None:
    """Copy what the program writes into a pipe, and close the pipe."""
    with contextlib.suppress(OSError):  # the other program has ended
        _copy(out.fileno(), pipe)
    os.close(pipe)


def _copy(source: int, target: int) -> None:
    """Copy from one descriptor to another until the end of the stream."""
    while data := os.read(source, CHUNK_BYTES):
        view = memoryview(data)
        while view:
            view = view[os.write(target, view) :]


@contextlib.contextmanager
def _streams(job: SandboxJob, out: int, err: int) -> Iterator[tuple[int, int]]:
    """The descriptors to collect as standard output and standard error.

    The standard output of a program that is connected to another one is copied to that one. The reports of `ask`, and
    the error messages of `answer`, arrive on standard error.
    """
    if not job.extra_fds:
        yield out, err
        return
    empty, end = os.pipe()
    os.close(end)
    try:
        yield (err, empty) if job.program == "ask" else (empty, err)
    finally:
        os.close(empty)
