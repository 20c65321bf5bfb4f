"""One sandbox seen from the host: a zygote process that runs one job at a time."""

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
from gem.sandbox import host_view
from gem.sandbox.inside.files.cleanup import empty_folder
from gem.sandbox.inside.settings import MAX_MESSAGE_BYTES, Settings
from gem.sandbox.job import JobInterrupted, OutputCollector, SandboxJob, SlotDied
from gem.sandbox.limits import Level, Limits, Result, Status

PACKAGE_FOLDER = str(Path(__file__).parent)
"""The folder that holds the package `inside`."""
COMMAND = "import sys; sys.path.insert(0, sys.argv.pop()); from inside.launch import main; main()"
START_TIMEOUT_SECONDS = 60.0
"""How long a zygote may take to start; importing pandas takes a second, on a busy machine several."""
SUBMODULES = {"numpy": ("numpy.random", "numpy.linalg", "numpy.fft", "numpy.ma", "numpy.polynomial")}
"""Submodules that a package imports only when they are used."""


class SandboxSlot:
    """Starts a zygote and hands it jobs; not thread-safe. See `gem.sandbox.backends.Sandbox`.

    Args:
        level: `full` or `landlock`.
        preload: modules that the zygote imports beforehand.

    Raises:
        SandboxUnavailable: if the zygote does not start; the message contains its error.
    """

    def __init__(self, level: Level, preload: tuple[str, ...] = ()) -> None:
        self.level = level
        self.preload = preload
        self.jobs = 0
        self._user = host_view.random_user()
        self._work_folder = host_view.work_folder() if level == "full" else self._make_work_folder()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `close`)
        self._control, zygote_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._process = self._start(zygote_end)
        finally:
            zygote_end.close()
        self._await_ready()

    def _make_work_folder(self) -> str:
        """Make a folder that only the sandbox's user may enter."""
        folder = tempfile.mkdtemp(prefix="gem-sandbox-")
        if self._user is not None:
            os.chown(folder, self._user, self._user)
        return folder

    def _start(self, control: socket.socket) -> subprocess.Popen[bytes]:
        may_be_unreadable = self.level != "full" and self._user is not None
        settings = Settings(
            level=self.level,
            control=control.fileno(),
            readable=host_view.readable_paths(),
            module_paths=host_view.module_paths(),
            preload=with_submodules(self.preload),
            user=self._user,
            can_read_all=may_be_unreadable and host_view.private_folder() is not None,
            work_folder=self._work_folder,
            work_bytes=Limits().files_bytes,
        )
        return subprocess.Popen(  # noqa: S603 (our own interpreter and program)
            [sys.executable, "-S", "-s", "-P", "-B", "-X", "utf8", "-c", COMMAND, settings.to_json(), PACKAGE_FOLDER],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._stderr,
            env=host_view.VARIABLES | {"HOME": self._work_folder, "TMPDIR": self._work_folder},
            cwd="/",
            pass_fds=(control.fileno(),),
            start_new_session=True,  # so that Ctrl-C does not reach it
        )

    def _await_ready(self) -> None:
        self._control.settimeout(START_TIMEOUT_SECONDS)
        try:
            is_ready = bool(self._receive().get("ready"))
        except (SlotDied, TimeoutError):
            is_ready = False
        if not is_ready:
            message = self._last_error_line()
            self.close()
            raise SandboxUnavailable(message)

    def _last_error_line(self) -> str:
        """The last line that the zygote wrote to its standard error."""
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "the sandbox ended without saying why"

    @property
    def pid(self) -> int:
        """See `Sandbox.pid`."""
        return self._process.pid

    def has(self, modules: frozenset[str]) -> bool:
        """See `Sandbox.has`."""
        return modules <= set(self.preload)

    def import_also(self, modules: frozenset[str]) -> None:
        """See `Sandbox.import_also`."""
        self._send({"preload": with_submodules(tuple(sorted(modules)))})
        self._receive()
        self.preload = (*self.preload, *sorted(modules))

    def execute(self, job: SandboxJob) -> Result:
        """See `Sandbox.execute`."""
        self.jobs += 1
        started = time.monotonic()
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        job_fds = [_memory_file(job.code), _memory_file(job.stdin), out_end, err_end, *job.extra_fds]
        try:
            try:
                self._send(_job_message(job, self.jobs), job_fds)
            finally:
                for fd in job_fds:
                    os.close(fd)
            collector = OutputCollector(job, out, err, self._control.fileno(), self._receive, self._stop)
            report = collector.collect()
        finally:
            os.close(out)
            os.close(err)
        return make_result(report, collector, time.monotonic() - started, self.level)

    def _stop(self) -> None:
        """Make the zygote end the present job; it ignores a request for a job that has ended."""
        with contextlib.suppress(OSError, SlotDied):
            self._send({"kill": self.jobs})

    def _send(self, message: dict[str, Any], fds: list[int] | None = None) -> None:
        try:
            socket.send_fds(self._control, [json.dumps(message).encode()], fds or [])
        except (BrokenPipeError, ConnectionResetError) as error:
            raise SlotDied from error

    def _receive(self) -> dict[str, Any]:
        try:
            data = self._control.recv(MAX_MESSAGE_BYTES)
        except ConnectionResetError as error:
            raise SlotDied from error
        if not data:
            raise SlotDied
        message: dict[str, Any] = json.loads(data)
        return message

    def close(self) -> None:
        """See `Sandbox.close`."""
        self._control.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()
        self._stderr.close()
        if self.level != "full":
            empty_folder(self._work_folder)
            with contextlib.suppress(OSError):
                os.rmdir(self._work_folder)

    def abandon_after_fork(self) -> None:
        """See `Sandbox.abandon_after_fork`."""
        self._control.close()
        self._stderr.close()
        self._process.returncode = 0  # marks it as ended, so that Python does not wait for another process's child


def make_result(report: dict[str, Any], collector: OutputCollector, wall_seconds: float, level: Level) -> Result:
    """The result of a run, from the report on its end and the output that was collected.

    Raises:
        SandboxUnavailable: if the process could not be confined; no code ran.
        JobInterrupted: if the job had to yield.
    """
    if collector.is_interrupted:
        raise JobInterrupted
    if report["end"] == "setup":
        raise SandboxUnavailable(report["message"] or "a process could not be confined")
    code = report["code"]
    has_exit_code = report["end"] in ("exit", "signal", "memory") and not collector.stop_reason
    return Result(
        status=collector.stop_reason or _status(report["end"], code),
        stdout=collector.out.decode("utf-8", "replace"),
        stderr=collector.err.decode("utf-8", "replace") + _note(report["end"]),
        wall_seconds=wall_seconds,
        cpu_seconds=report["cpu"],
        level=level,
        exit_code=code if has_exit_code else None,
        memory_bytes=report["memory"],
    )


def with_submodules(modules: tuple[str, ...]) -> list[str]:
    """Modules, each followed by the submodules that it does not import itself."""
    return [name for module in modules for name in (module, *SUBMODULES.get(module, ()))]


def _job_message(job: SandboxJob, number: int) -> dict[str, Any]:
    limits = job.limits
    return {
        "id": number,
        "program": job.program,
        "extra_fds": len(job.extra_fds),
        "wall": limits.wall_seconds,
        "cpu": limits.cpu_seconds or limits.wall_seconds,
        "memory": limits.memory_bytes,
        "files": limits.files_bytes,
        "threads": limits.threads,
    }


def _memory_file(content: bytes) -> int:
    """A descriptor of a file in memory with this content, positioned at its beginning."""
    fd = os.memfd_create("sandbox", os.MFD_CLOEXEC)
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _status(end: str, code: int) -> Status:
    if end == "exit" and code != 0:
        return "error"
    statuses: dict[str, Status] = {"timeout": "timeout", "memory": "memory", "files": "output", "exit": "ok"}
    return statuses.get(end, "killed")


def _note(end: str) -> str:
    notes = {"files": "It wrote more to files than it may.\n", "threads": "It started more threads than it may.\n"}
    return notes.get(end, "")
