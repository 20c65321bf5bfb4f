"""Starts the driver in the interpreter that has the environment, and watches it.

The driver writes a line of JSON for everything that happens. If it does not survive a promise, or is silent for too
long, that is the finding, and another process goes on with the next promise.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from gem.check.elsewhere.driver.main import AGAIN
from gem.check.elsewhere.driver.promise import CPU_SECONDS, PATHS
from gem.check.elsewhere.targets import Target
from gem.check.elsewhere.watching import IDLE_SECONDS, Watch
from gem.check.promise import Finding
from gem.errors import InvalidArgument, UsageError
from gem.processes import ending_in_words

COMMAND = f"{PATHS}sys.path.insert(0, sys.argv.pop(1)); from driver.main import main; del sys.path[0]; main()"
"""Imports the driver from its folder, and then leaves `gem` and everything else to the interpreter's own paths."""
FOLDER = Path(__file__).parent
ENGINE = Path(__file__).parents[3]
START_SECONDS = 120
"""The most processor time that importing a package may take."""
LOOK_SECONDS = 5.0
"""A silent process is looked at so often."""
MOST_PROCESSES = 60
"""A package whose environments end the process again and again is not worth more."""


@dataclass
class DriverExamination:
    """Checking one target, in processes of another interpreter."""

    target: Target
    python: str | None = None
    """The interpreter that has the package; this one by default."""
    modules: Sequence[str] = ()
    seconds: float = CPU_SECONDS
    """The most processor time that one promise may take."""
    idle_seconds: float = IDLE_SECONDS
    """The longest that it may wait without doing anything."""
    left_out: Sequence[str] = ()
    """The ids that are not checked together with the others; known once there is a finding."""
    heading: str = ""
    """What is checked, with the package, its version and the interpreter; known once there is a finding."""
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Of a package for GEM as a whole: the ids that are tried, or `package`, each with the keys of the promises that
    are tried besides the basic ones; everything if it is empty."""
    _done: list[tuple[str, str]] = field(default_factory=list, init=False)
    _dropped: list[str] = field(default_factory=list, init=False)
    _trying: dict[str, Any] | None = field(default=None, init=False)
    """The promise that is tried now."""
    _is_over: bool = field(default=False, init=False)
    """Whether everything was tried."""

    def findings(self) -> Iterator[Finding]:
        """Check every promise, and yield a finding for each as soon as it is known.

        Raises:
            UsageError: if the interpreter cannot be started, or the package or the environment is not there.
        """
        for _ in range(MOST_PROCESSES):
            with self._started() as (process, log):
                yield from self._read(process, log)
            if self._is_over:
                return
        raise UsageError(f"The check was given up: {MOST_PROCESSES} processes did not survive it.")

    def _read(self, process: subprocess.Popen[str], log: IO[bytes]) -> Iterator[Finding]:
        """Yield what a process finds, until its end."""
        lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=_pass_on, args=(process, lines), daemon=True).start()
        watch = Watch(process.pid, self.idle_seconds, START_SECONDS)
        while True:
            try:
                line = lines.get(timeout=min(LOOK_SECONDS, self.idle_seconds / 4))
            except queue.Empty:
                if complaint := watch.complaint():
                    yield from self._lost(complaint, log)
                    return
                continue
            if not line:
                if process.wait() != AGAIN and not self._is_over:
                    yield from self._lost(f"The process that tried it {ending_in_words(process.wait())}.", log)
                return
            event = json.loads(line)
            kind = event.pop("event")
            if kind == "finding":
                yield self._finding(**event)
                continue
            self._note(kind, event)
            watch = Watch(process.pid, self.idle_seconds, self.seconds)  # importing may have taken longer

    def _note(self, kind: str, event: Mapping[str, Any]) -> None:
        """What a process says besides its findings.

        Raises:
            UsageError: if it says that nothing can be checked.
        """
        if kind == "refusal":
            raise UsageError(event["detail"])
        if kind == "ready":
            self.left_out = event["left_out"]
            self.heading = f"{self.target.name} of {event['package']}, {event['python']}"
        self._trying = dict(event) if kind == "begin" else None
        self._is_over = kind == "end"

    def _finding(self, env_id: str, key: str, is_last: bool, **content: Any) -> Finding:
        self._trying = None
        self._done.append((env_id, key))
        if is_last:
            self._dropped.append(env_id)
        return Finding(key=key, env_id=env_id, **content)

    def _lost(self, detail: str, log: IO[bytes]) -> Iterator[Finding]:
        """What it means that a process has ended, or is silent."""
        if self._trying is None:
            log.seek(0)
            said = log.read().decode("utf-8", "replace").strip().splitlines()
            raise UsageError(f"{self._command[0]} could not import the package: {said[-1] if said else detail}")
        tried = self._trying
        yield self._finding(
            tried["env_id"], tried["key"], is_last=True, title=tried["title"], status="wrong", detail=detail,
            advice=tried["advice"],
        )  # fmt: skip

    @property
    def _command(self) -> list[str]:
        request = {
            "kind": self.target.kind, "name": self.target.name, "modules": list(self.modules),
            "seconds": self.seconds, "only": dict(self.only), "done": self._done, "dropped": self._dropped,
        }  # fmt: skip
        return [self.python or sys.executable, "-W", "ignore", "-c", COMMAND, str(FOLDER), json.dumps(request)]

    @property
    def _environment(self) -> dict[str, str]:
        """The environment variables of the driver: our interpreter finds our modules, another one not our `gem`."""
        if self.python is None:
            return {**os.environ, "PYTHONPATH": os.pathsep.join(entry or os.curdir for entry in sys.path)}
        if self.target.kind != "gem":
            return dict(os.environ)
        entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        kept = [entry for entry in entries if entry and Path(entry).resolve() != ENGINE]
        others = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return {**others, "PYTHONPATH": os.pathsep.join(kept)} if kept else others

    @contextlib.contextmanager
    def _started(self) -> Iterator[tuple[subprocess.Popen[str], IO[bytes]]]:
        """A process of the driver and what it writes to its standard error; its whole group ends with the block."""
        with tempfile.TemporaryFile() as log:
            try:
                process = subprocess.Popen(  # noqa: S603 (the interpreter is named by the user)
                    self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
                    env=self._environment, start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise InvalidArgument(f"{self.python} cannot be started: {error.strerror}.") from error
            try:
                yield process, log
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _pass_on(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    """Put the lines of a process into a queue, and an empty one at their end."""
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            lines.put(line)
    lines.put("")
