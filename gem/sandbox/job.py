"""A job for a sandbox, and the collection of its output until it has ended."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gem.sandbox.limits import Limits, Status

GRACE_SECONDS = 5.0
"""How much longer than its time limit a job may take before the sandbox itself is considered stuck."""
YIELD_SECONDS = 0.1
"""How often a job is asked whether it should yield."""
CHUNK_BYTES = 1 << 16
"""How many bytes are read at once."""


class SlotDied(Exception):
    """The zygote ended in the middle of a job. The pool catches this, so that it never reaches the caller."""


class JobInterrupted(Exception):
    """The job was ended because its `should_yield` said so. The pool catches this too."""


def encoded(text: str) -> bytes:
    """The bytes of a program or of its input: UTF-8, and what Python read from bytes that are not as these bytes.

    Half of a surrogate pair, which UTF-8 has not, is encoded all the same: it is for the program to stumble over.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class SandboxJob:
    """A program for a sandbox to run."""

    code: bytes
    stdin: bytes = b""
    limits: Limits = field(default_factory=Limits)
    program: str = "script"
    """The name of the runner in `inside.confine` that executes the code."""
    extra_fds: tuple[int, ...] = ()
    """File descriptors that the program gets from number 3 on; they are closed here once it has them."""
    silence_seconds: float | None = None
    """The job is stopped when it has written nothing to its standard output for this long."""
    should_stop: Callable[[bytearray], bool] | None = None
    """Called with the standard output so far whenever there is more; True stops the job."""
    should_yield: Callable[[float], bool] | None = None
    """Called several times a second with the seconds for which the job has run; True ends it with `JobInterrupted`."""
    restarted: Callable[[], None] | None = None
    """Called before the job is run again from its beginning, if `should_stop` keeps something from an earlier run."""


def is_readable(fd: int, seconds: float) -> bool:
    """Whether there is something to read, or the end of the stream, within so many seconds.

    `select.select` could not tell in a process that has more than 1,024 files and sockets open.
    """
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(max(0.0, seconds) * 1000))


class OutputCollector:
    """Reads both streams of a job and the zygote's report; stops a job that writes too much, or nothing for too long.

    Args:
        job: the job that runs.
        out, err: the reading ends of its standard output and standard error.
        control: the descriptor on which the report arrives.
        receive: reads the report.
        stop: makes the zygote end the job, which is then reported as usual.
    """

    def __init__(
        self,
        job: SandboxJob,
        out: int,
        err: int,
        control: int,
        receive: Callable[[], dict[str, Any]],
        stop: Callable[[], None],
    ) -> None:
        self.job = job
        self.out, self.err = bytearray(), bytearray()
        self.stop_reason: Status | None = None
        """Why this collector stopped the job; None if it did not."""
        self.is_interrupted = False
        """Whether this collector ended the job because it should yield."""
        self._streams = {out: self.out, err: self.err}
        self._control, self._receive, self._stop = control, receive, stop
        self._poll = select.poll()
        self._open_fds = {out, err, control}
        for fd in self._open_fds:
            self._poll.register(fd, select.POLLIN)
        self._began = self._last_output = time.monotonic()
        self._deadline = self._began + job.limits.wall_seconds + GRACE_SECONDS
        self._asks_again = self._began + YIELD_SECONDS if job.should_yield else float("inf")

    def collect(self) -> dict[str, Any]:
        """Wait for the report and the end of both streams, and return the report.

        Raises:
            SlotDied: if the zygote ends, or does not end the job in time.
        """
        report: dict[str, Any] = {}
        while self._open_fds:
            seconds = min(self._deadline, self._silence_deadline(), self._asks_again) - time.monotonic()
            events = self._poll.poll(max(0.0, seconds) * 1000 + 1)
            if not events:
                self._check_deadlines()
            self._yield_if_due()
            for fd, _ in events:
                if fd == self._control:
                    report = self._receive()
                    self._unregister(fd)
                else:
                    self._read(fd)
        return report

    def _silence_deadline(self) -> float:
        """When the job will have been silent for too long."""
        if self.job.silence_seconds is None or self.stop_reason:
            return self._deadline
        return self._last_output + self.job.silence_seconds

    def _check_deadlines(self) -> None:
        now = time.monotonic()
        if now >= self._deadline:
            raise SlotDied
        if now >= self._silence_deadline():
            self._stop_once("timeout")

    def _yield_if_due(self) -> None:
        """End the job if it is time to ask whether it should yield, and it should."""
        now = time.monotonic()
        if self.job.should_yield is None or now < self._asks_again:
            return
        self._asks_again = now + YIELD_SECONDS
        if not self.is_interrupted and self.job.should_yield(now - self._began):
            self.is_interrupted = True
            self._stop_once("killed")

    def _read(self, fd: int) -> None:
        """Read what a stream has; no data means that it has ended."""
        data = os.read(fd, CHUNK_BYTES)
        if not data:
            self._unregister(fd)
            return
        stream, max_bytes = self._streams[fd], self.job.limits.output_bytes
        stream += data
        if len(stream) > max_bytes:
            del stream[max_bytes:]
            self._stop_once("output")
        elif stream is self.out:
            self._last_output = time.monotonic()
            if self.job.should_stop is not None and not self.stop_reason and self.job.should_stop(stream):
                self._stop_once("killed")

    def _stop_once(self, reason: Status) -> None:
        if self.stop_reason is None:
            self.stop_reason = reason
            self._stop()

    def _unregister(self, fd: int) -> None:
        self._open_fds.discard(fd)
        self._poll.unregister(fd)
