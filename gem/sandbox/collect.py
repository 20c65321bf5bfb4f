"""A job, and collecting what it writes until it has ended."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gem.sandbox.limits import Limits, Status

GRACE_SECONDS = 5.0
"""How much longer than its limit a job may take before the sandbox itself is thought to be stuck."""
CHUNK = 1 << 16


class SlotDied(Exception):
    """Caught by the pool, never seen outside: the zygote went away in the middle of a job."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a zygote is asked to run."""

    code: bytes
    stdin: bytes = b""
    limits: Limits = field(default_factory=Limits)
    program: str = "script"
    """Which of the programs in `inside.confine` takes the code."""
    own: tuple[int, ...] = ()
    """File descriptors that the program finds from number 3 on; they are closed here when it has them."""
    lap_seconds: float | None = None
    """The job is stopped when it has written nothing to its standard output for this long."""
    enough: Callable[[bytearray], bool] | None = None
    """Called with the standard output so far whenever there is more; True stops the job."""


def is_readable(fd: int, seconds: float) -> bool:
    """Whether there is something to read, or its end, within so many seconds.

    `select.select` could not tell in a process that has more than 1,024 files and sockets open.
    """
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(max(0.0, seconds) * 1000))


class Collector:
    """Reads both streams of a job and the zygote's report; stops a job that writes too much, or nothing for too long.

    Args:
        job: what runs.
        out, err: the reading ends of its streams.
        control: the descriptor that the report comes on.
        receive: reads the report.
        stop: has the zygote end the job, which then reports as usual.
    """

    def __init__(
        self,
        job: Job,
        out: int,
        err: int,
        control: int,
        receive: Callable[[], dict[str, Any]],
        stop: Callable[[], None],
    ) -> None:
        self.job = job
        self.out, self.err = bytearray(), bytearray()
        self.stopped: Status | None = None
        """Why the job was stopped from here, if it was."""
        self._streams = {out: self.out, err: self.err}
        self._control, self._receive, self._stop = control, receive, stop
        self._poll = select.poll()
        self._open = {out, err, control}
        for fd in self._open:
            self._poll.register(fd, select.POLLIN)
        self._give_up = time.monotonic() + job.limits.wall_seconds + GRACE_SECONDS
        self._lap = time.monotonic()

    def until_the_end(self) -> dict[str, Any]:
        """Wait for the report and the end of both streams; return the report.

        Raises:
            SlotDied: if the zygote goes away or does not end the job in time.
        """
        report: dict[str, Any] = {}
        while self._open:
            left = min(self._give_up, self._lap_ends()) - time.monotonic()
            events = self._poll.poll(max(0.0, left) * 1000 + 1)
            if not events:
                self._nothing_came()
            for fd, _ in events:
                if fd == self._control:
                    report = self._receive()
                    self._forget(fd)
                else:
                    self._read(fd)
        return report

    def _lap_ends(self) -> float:
        """When the job has been silent for too long."""
        if self.job.lap_seconds is None or self.stopped:
            return self._give_up
        return self._lap + self.job.lap_seconds

    def _nothing_came(self) -> None:
        now = time.monotonic()
        if now >= self._give_up:
            raise SlotDied
        if now >= self._lap_ends():
            self._end("timeout")

    def _read(self, fd: int) -> None:
        """Take what a stream has; nothing means that it has ended."""
        data = os.read(fd, CHUNK)
        if not data:
            self._forget(fd)
            return
        stream, most = self._streams[fd], self.job.limits.output_bytes
        stream += data
        if len(stream) > most:
            del stream[most:]
            self._end("output")
        elif stream is self.out:
            self._lap = time.monotonic()
            if self.job.enough is not None and not self.stopped and self.job.enough(stream):
                self._end("killed")

    def _end(self, why: Status) -> None:
        """Stop the job, once."""
        if self.stopped is None:
            self.stopped = why
            self._stop()

    def _forget(self, fd: int) -> None:
        self._open.discard(fd)
        self._poll.unregister(fd)
