"""The door to the process that holds ReasoningGym (see `helper`): started when a problem is first asked for.

There is one for each process that plays. It takes seconds to start, once; nobody else waits meanwhile. Importing the
package here would change the hash seed of nothing and the global generators of everything.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any

from gem.errors import EnvironmentFailure

RESTARTS = 2
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from gem.envs.reasoning.helper import serve; serve()"


class TooMuchComputing(EnvironmentFailure):
    """A request took more computing time than is allowed."""


class Source:
    """The helper process and the pipes to it; any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """The answer to a request.

        Raises:
            TooMuchComputing: if it takes too long.
            EnvironmentFailure: if the process ends again and again.
        """
        line = json.dumps({"do": do, **request}) + "\n"
        with self._lock:
            for _ in range(RESTARTS):
                answer = self._exchange(line)
                if answer:
                    read: dict[str, Any] = json.loads(answer)
                    return read
                if self._stop() == -getattr(signal, "SIGVTALRM", 0):
                    raise TooMuchComputing(f"ReasoningGym took too much computing time to {do} a problem.")
        raise EnvironmentFailure("The process that makes ReasoningGym's problems ends as soon as it is asked.")

    def close(self) -> None:
        """End the process; the next question starts another one."""
        with self._lock:
            self._stop()

    def _exchange(self, line: str) -> str:
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(line)
            process.stdin.flush()
            return process.stdout.readline()
        except OSError:
            return ""
        except BaseException:  # interrupted: the answer would be taken for that to the next question
            self._stop()
            raise

    def _start(self) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"}
        path = [os.getcwd() if entry == "" else entry for entry in sys.path]
        self._process = subprocess.Popen(  # noqa: S603 (our own program)
            [sys.executable, "-W", "ignore", "-c", _START, json.dumps(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env=environment,
        )
        return self._process

    def _stop(self) -> int | None:
        """End the process and return its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # what was not read is for nobody
                pipe.close()  # type: ignore[union-attr]
        try:
            return process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


_source = Source()


def ask(do: str, **request: Any) -> dict[str, Any]:
    """As `Source.ask`, of this process's own helper."""
    return _source.ask(do, **request)


def close() -> None:
    """End this process's helper, if there is one."""
    _source.close()


def _forget() -> None:
    """A forked process has a helper of its own: two that share one would take each other's answers."""
    global _source  # noqa: PLW0603 (one for each process)
    _source = Source()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
atexit.register(close)
