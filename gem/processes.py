"""A process that is kept to answer one question after the other, and can be ended when it takes too long.

It reads one line of JSON for each question and writes one line for each answer (see `serve`). Whoever asks, from any
thread, waits for the questions before.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from typing import Any

from gem.errors import EnvironmentFailure

RESTARTS = 2
_START = (
    "import importlib, json, shutil, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "importlib.import_module(sys.argv[2]).serve(); "
    "[shutil.rmtree(folder, ignore_errors=True) for folder in sys.argv[3:]]"  # whoever asked may have been killed
)


class TooMuchComputing(EnvironmentFailure):
    """A question took more computing time, or more time by the clock, than is allowed."""


class Helper:
    """A kept process and the pipes to it; it is started with the first question.

    Args:
        module: whose function `serve` answers, in the process.
        name: in messages: "The process that grades answers".
        patience: seconds by the clock after which the process is ended; the process itself limits its computing.
        folder: how the name of an empty folder begins that each process starts in; it is gone when the process is.
    """

    def __init__(self, module: str, name: str, patience: float | None = None, folder: str | None = None) -> None:
        self.module, self.name, self.patience, self.folder = module, name, patience, folder
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._own_folder: str | None = None
        _helpers.add(self)

    def ask(self, **request: Any) -> dict[str, Any]:
        """The answer to a question.

        Raises:
            TooMuchComputing: if it takes too long.
            EnvironmentFailure: if the process ends again and again.
        """
        line = json.dumps(request) + "\n"
        with self._lock:
            for _ in range(RESTARTS):
                answer, late = self._exchange(line)
                if answer:
                    read: dict[str, Any] = json.loads(answer)
                    return read
                if late or self._stop() in (-getattr(signal, "SIGVTALRM", 0), -getattr(signal, "SIGPROF", 0)):
                    self._stop()
                    raise TooMuchComputing(f"{self.name} took too much time.")
        raise EnvironmentFailure(f"{self.name} ends as soon as it is asked.")

    def close(self) -> None:
        """End the process; the next question starts another one."""
        with self._lock:
            self._stop()

    def forget(self) -> None:
        """In a forked process: two that share one would take each other's answers."""
        self._lock, self._process = threading.Lock(), None

    def _exchange(self, line: str) -> tuple[str, bool]:
        """The answer, empty if the process ended, and whether it was ended because it was late."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()
        timer = None if self.patience is None else threading.Timer(self.patience, _end, (process, late))
        try:
            process.stdin.write(line)
            process.stdin.flush()
            if timer is not None:
                timer.start()
            return process.stdout.readline(), late.is_set()
        except OSError:
            return "", late.is_set()
        except BaseException:  # interrupted: the answer would be taken for that to the next question
            self._stop()
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def _start(self) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"}
        path = [os.getcwd() if entry == "" else entry for entry in sys.path]
        self._own_folder = tempfile.mkdtemp(prefix=self.folder) if self.folder else None
        own = [self._own_folder] if self._own_folder else []
        self._process = subprocess.Popen(  # noqa: S603 (our own program)
            [sys.executable, "-W", "ignore", "-c", _START, json.dumps(path), self.module, *own],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env=environment,
            cwd=self._own_folder,
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
        finally:
            if self._own_folder:
                shutil.rmtree(self._own_folder, ignore_errors=True)


def _end(process: subprocess.Popen[str], late: threading.Event) -> None:
    late.set()
    process.kill()


_helpers: weakref.WeakSet[Helper] = weakref.WeakSet()


def _forget_all() -> None:
    for helper in list(_helpers):
        helper.forget()


def _close_all() -> None:
    for helper in list(_helpers):
        helper.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
atexit.register(_close_all)
