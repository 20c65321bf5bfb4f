"""One sandbox seen from the host: a zygote that runs one job at a time."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gem.errors import SandboxUnavailable
from gem.sandbox import layout
from gem.sandbox.collect import Collector, Job, SlotDied
from gem.sandbox.inside.files.emptying import empty
from gem.sandbox.inside.settings import MAX_MESSAGE, Settings
from gem.sandbox.limits import Level, Limits, Result, Status

HERE = str(Path(__file__).parent)
COMMAND = "import sys; sys.path.insert(0, sys.argv.pop()); from inside.launch import main; main()"
START_SECONDS = 60.0
"""Importing pandas takes a second, on a busy machine several."""
PARTS = {"numpy": ("numpy.random", "numpy.linalg", "numpy.fft", "numpy.ma", "numpy.polynomial")}


class Slot:
    """Starts a zygote and hands it jobs; not for several threads at once.

    Args:
        level: `full` or `landlock`.
        preload: modules that the zygote imports beforehand.

    Raises:
        SandboxUnavailable: if the zygote does not come up; the message has its complaint.
    """

    def __init__(self, level: Level, preload: tuple[str, ...] = ()) -> None:
        self.level = level
        self.preload = preload
        self.jobs = 0
        self._user = layout.user()
        self._work = layout.work() if level == "full" else self._make_work()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `close`)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._process = self._start(theirs)
        finally:
            theirs.close()
        self._await_ready()

    def _make_work(self) -> str:
        """A directory that only the sandbox's user may enter."""
        work = tempfile.mkdtemp(prefix="gem-sandbox-")
        if self._user is not None:
            os.chown(work, self._user, self._user)
        return work

    def _start(self, control: socket.socket) -> subprocess.Popen[bytes]:
        settings = Settings(
            level=self.level,
            control=control.fileno(),
            readable=layout.readable(),
            modules=layout.modules(),
            preload=with_parts(self.preload),
            user=self._user,
            reach=self.level != "full" and self._user is not None and layout.private_directory() is not None,
            work=self._work,
            work_bytes=Limits().files_bytes,
        )
        return subprocess.Popen(  # noqa: S603 (our own interpreter and program)
            [sys.executable, "-S", "-s", "-P", "-B", "-X", "utf8", "-c", COMMAND, settings.text(), HERE],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._stderr,
            env=layout.VARIABLES | {"HOME": self._work, "TMPDIR": self._work},
            cwd="/",
            pass_fds=(control.fileno(),),
            start_new_session=True,  # Ctrl-C is for us
        )

    def _await_ready(self) -> None:
        self._control.settimeout(START_SECONDS)
        try:
            ready = bool(self._receive().get("ready"))
        except (SlotDied, TimeoutError):
            ready = False
        if not ready:
            complaint = self._complaint()
            self.close()
            raise SandboxUnavailable(complaint)

    def _complaint(self) -> str:
        """The last line that the zygote wrote to its standard error."""
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "the sandbox ended without saying why"

    @property
    def pid(self) -> int:
        """Of the process that all others of this sandbox are below."""
        return self._process.pid

    def has(self, modules: frozenset[str]) -> bool:
        """Whether all of `modules` are imported already."""
        return modules <= set(self.preload)

    def import_also(self, modules: frozenset[str]) -> None:
        """Have the zygote import more, for the runs to come.

        Raises:
            SlotDied: if it does not survive that.
        """
        self._send({"preload": with_parts(tuple(sorted(modules)))})
        self._receive()
        self.preload = (*self.preload, *sorted(modules))

    def execute(self, job: Job) -> Result:
        """Run one job to its end.

        Raises:
            SlotDied: if the zygote goes away; the job may be given to another.
            SandboxUnavailable: if the process could not be confined; no code ran.
        """
        self.jobs += 1
        started = time.monotonic()
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        given = [_memory_file(job.code), _memory_file(job.stdin), out_end, err_end, *job.own]
        try:
            try:
                self._send(_message(job, self.jobs), given)
            finally:
                for fd in given:
                    os.close(fd)
            collected = Collector(job, out, err, self._control.fileno(), self._receive, self._stop)
            report = collected.until_the_end()
        finally:
            os.close(out)
            os.close(err)
        return result_of(report, collected, time.monotonic() - started, self.level)

    def _stop(self) -> None:
        """Have the zygote end the present job; a message that comes too late names a job that is over."""
        with contextlib.suppress(OSError, SlotDied):
            self._send({"kill": self.jobs})

    def _send(self, message: dict[str, Any], fds: list[int] | None = None) -> None:
        try:
            socket.send_fds(self._control, [json.dumps(message).encode()], fds or [])
        except (BrokenPipeError, ConnectionResetError) as error:
            raise SlotDied from error

    def _receive(self) -> dict[str, Any]:
        try:
            data = self._control.recv(MAX_MESSAGE)
        except ConnectionResetError as error:
            raise SlotDied from error
        if not data:
            raise SlotDied
        message: dict[str, Any] = json.loads(data)
        return message

    def close(self) -> None:
        """End the zygote and all below it; safe to call twice."""
        self._control.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()
        self._stderr.close()
        if self.level != "full":
            empty(self._work)
            with contextlib.suppress(OSError):
                os.rmdir(self._work)

    def forget(self) -> None:
        """In a process forked from ours: let go without ending what is not ours to end."""
        self._control.close()
        self._stderr.close()
        self._process.returncode = 0  # so that nobody waits for another process's child


def result_of(report: dict[str, Any], collected: Collector, wall: float, level: Level) -> Result:
    """What a run gave, from the report on its end and what was read of its streams.

    Raises:
        SandboxUnavailable: if the process could not be confined; no code ran.
    """
    if report["ended"] == "setup":
        raise SandboxUnavailable(report["said"] or "a process could not be confined")
    code = report["code"]
    return Result(
        status=collected.stopped or _status(report["ended"], code),
        stdout=collected.out.decode("utf-8", "replace"),
        stderr=collected.err.decode("utf-8", "replace") + _note(report["ended"]),
        wall_seconds=wall,
        cpu_seconds=report["cpu"],
        level=level,
        exit_code=code if report["ended"] in ("exit", "signal", "memory") and not collected.stopped else None,
        memory_bytes=report["memory"],
    )


def with_parts(modules: tuple[str, ...]) -> list[str]:
    """Modules with those parts of them that are imported only when they are used."""
    return [part for module in modules for part in (module, *PARTS.get(module, ()))]


def _message(job: Job, number: int) -> dict[str, Any]:
    limits = job.limits
    return {
        "id": number,
        "program": job.program,
        "own": len(job.own),
        "wall": limits.wall_seconds,
        "cpu": limits.cpu_seconds or limits.wall_seconds,
        "memory": limits.memory_bytes,
        "files": limits.files_bytes,
        "threads": limits.threads,
    }


def _memory_file(content: bytes) -> int:
    """A file in memory at its beginning, for the other side to read."""
    fd = os.memfd_create("sandbox", os.MFD_CLOEXEC)
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _status(ended: str, code: int) -> Status:
    words: dict[str, Status] = {"timeout": "timeout", "memory": "memory", "files": "output", "exit": "ok"}
    if ended == "exit" and code != 0:
        return "error"
    return words.get(ended, "killed")


def _note(ended: str) -> str:
    notes = {"files": "It wrote more to files than it may.\n", "threads": "It started more threads than it may.\n"}
    return notes.get(ended, "")
