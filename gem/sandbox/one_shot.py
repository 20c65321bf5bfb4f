"""One job in a sandbox that another program makes: gVisor's runtime, a WebAssembly engine."""

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
from gem.sandbox.collect import CHUNK, Collector, Job, SlotDied, is_readable
from gem.sandbox.inside.alone import BEGINS, READY
from gem.sandbox.inside.keeper import remove
from gem.sandbox.inside.settings import MAX_MESSAGE
from gem.sandbox.limits import Level, Result
from gem.sandbox.slot import HERE, result_of

COMMAND = "import sys; sys.path.insert(0, sys.argv.pop(1)); from inside.keeper import main; main()"
START_SECONDS = 60.0


class OneShotProcess:
    """A process that waits in its sandbox for the one job that it will run (`inside.alone`).

    Args:
        command: starts the sandbox, with its standard streams as the process's.
        level: what results name.
        scratch: a folder that is removed at the end, also when the host is killed.
    """

    def __init__(self, command: list[str], level: Level, scratch: str) -> None:
        self.level = level
        self._scratch = scratch
        self._threads: list[threading.Thread] = []
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        (reading, given), (said, out), (complained, err) = os.pipe(), os.pipe(), os.pipe()
        self._in, self._out, self._err = FileIO(given, "w"), FileIO(said), FileIO(complained)
        try:
            keeper = [sys.executable, "-S", "-s", "-P", "-B", "-X", "utf8", "-c", COMMAND, HERE]
            self._process = subprocess.Popen(  # noqa: S603 (our own interpreter and program)
                [*keeper, str(theirs.fileno()), scratch, *command],
                stdin=reading,
                stdout=out,
                stderr=err,
                env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
                cwd="/",
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C is for us
            )
        finally:
            theirs.close()
            for fd in (reading, out, err):
                os.close(fd)

    @property
    def pid(self) -> int:
        """Of the process that all others of this sandbox are below."""
        return self._process.pid

    def run(self, job: Job) -> Result:
        """Hand over the job and wait for its end.

        Raises:
            SandboxUnavailable: if the process says that it cannot come up or be confined; no code ran.
            SlotDied: if the sandbox goes away without a word, or does not end the job in time.
        """
        left = list(job.own)  # descriptors that nobody has yet who closes them
        try:
            return self._run(job, left)
        finally:
            for fd in left:
                os.close(fd)

    def _run(self, job: Job, left: list[int]) -> Result:
        self._expect(READY)
        limits = job.limits
        cpu = limits.cpu_seconds or limits.wall_seconds
        told = {
            "program": job.program,
            "bytes": len(job.code),
            "cpu": cpu,
            "memory": limits.memory_bytes,
            "files": limits.files_bytes,
            "threads": limits.threads,
        }
        given = json.dumps(told).encode() + b"\n" + job.code + job.stdin
        self._begin(self._write, given, left.pop(0) if left else None)
        self._expect(BEGINS)
        started = time.monotonic()
        with contextlib.suppress(OSError):  # it has ended already: its report says how
            self._control.send(json.dumps({"wall": limits.wall_seconds, "cpu": cpu}).encode())
        if left:
            self._begin(_carry, self._out, left.pop())
        with _streams(job, self._out.fileno(), self._err.fileno()) as (out, err):
            collected = Collector(job, out, err, self._control.fileno(), self._receive, self._stop)
            report = collected.until_the_end()
        return result_of(report, collected, time.monotonic() - started, self.level)

    def _begin(self, work: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _expect(self, mark: bytes) -> None:
        """Wait for a mark of the process on its standard output; the code has not begun before the second."""
        if not is_readable(self._out.fileno(), START_SECONDS) or self._out.read(1) != mark:
            complaint = self._complaint()
            raise SandboxUnavailable(complaint) if complaint else SlotDied

    def _complaint(self) -> str:
        """The last line that was written to standard error; the process is ended."""
        self._kill()
        os.set_blocking(self._err.fileno(), False)
        lines = (self._err.read() or b"").decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def _write(self, given: bytes, pipe: int | None) -> None:
        """The job, then its input, or what another program writes into the pipe; then the end of it."""
        view = memoryview(given)
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
        data = self._control.recv(MAX_MESSAGE)
        if not data:
            raise SlotDied
        report: dict[str, Any] = json.loads(data)
        return report

    def _kill(self) -> None:
        self._process.kill()  # what it keeps ends with it
        self._process.wait()

    def end(self) -> None:
        """End it, whatever it does; safe to call twice."""
        self._kill()
        for thread in self._threads:
            thread.join()
        for held in (self._control, self._in, self._out, self._err):
            held.close()
        remove(self._scratch)

    def forget(self) -> None:
        """In a process forked from ours: let go without ending what is not ours to end."""
        for held in (self._control, self._in, self._out, self._err):
            held.close()
        self._process.returncode = 0


def _carry(out: FileIO, pipe: int) -> None:
    """Carry what the program writes into a pipe that is ours to close."""
    with contextlib.suppress(OSError):  # the other program has ended
        _copy(out.fileno(), pipe)
    os.close(pipe)


def _copy(source: int, target: int) -> None:
    """All that comes, until its end."""
    while data := os.read(source, CHUNK):
        view = memoryview(data)
        while view:
            view = view[os.write(target, view) :]


@contextlib.contextmanager
def _streams(job: Job, out: int, err: int) -> Iterator[tuple[int, int]]:
    """What is collected as standard output and standard error.

    A program that is joined to another one has its standard output carried there. What it reports, if it asks, or
    complains of, if it answers, comes on standard error.
    """
    if not job.own:
        yield out, err
        return
    empty, end = os.pipe()
    os.close(end)
    try:
        yield (err, empty) if job.program == "ask" else (empty, err)
    finally:
        os.close(empty)
