"""Helper processes that serve one request after the other and are killed when a request takes too long.

A process reads one line of JSON for each request and writes one line of JSON for each response, in a function `serve`
of a module that the caller names. Calls from several threads wait for each other, or use the processes of a pool.
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
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from gem.errors import EnvironmentFailure

MAX_ATTEMPTS = 2
"""How often a request is sent, each time to a new process, before its failure is final."""
_START = (
    "import importlib, json, shutil, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "importlib.import_module(sys.argv[2]).serve(); "
    "[shutil.rmtree(folder, ignore_errors=True) for folder in sys.argv[3:]]"  # the parent may have been killed
)


def ending_in_words(code: int) -> str:
    """How a process ended that nobody asked to end, by its exit code or (negative) signal: "was killed ..."."""
    if code == -signal.SIGKILL:
        return "was killed (SIGKILL), as the system does when memory runs out"
    if code < 0:
        verb = "crashed" if -code in _CRASHES else "was ended from outside"
        return f"{verb} ({_SIGNALS.get(-code, f'signal {-code}')})"
    return f"stopped unexpectedly, with exit code {code}"


def _has_used_its_time(code: int | None) -> bool:
    """Whether the timer of a process ended it, by its exit code; a confined one passes on 256 less the signal."""
    timers = {getattr(signal, name, 0) for name in ("SIGVTALRM", "SIGPROF")}
    return code is not None and -code % 256 in timers - {0}


_SIGNALS = {number.value: number.name for number in signal.Signals}
"""Most of the real-time signals have no name."""
_CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGFPE, signal.SIGBUS}


def is_only_thread() -> bool:
    """Whether no other thread of this process does anything: the one that starts helpers only waits for orders."""
    return threading.active_count() - _starter.thread_count == 1


class ProcessTimeout(EnvironmentFailure):
    """A request took more CPU time or more wall-clock time than is allowed."""


class HelperBusy(EnvironmentFailure):
    """A request would have to wait too long for those before it."""


class HelperProcess:
    """A process and the pipes to it; the first request starts it.

    Args:
        module: the module whose function `serve` runs in the process.
        name: the name of the process in messages, such as "The process that grades answers".
        timeout_seconds: wall-clock seconds after which a request fails and the process is killed. A limit on CPU time
            is up to the process itself.
        folder: the prefix of the name of a temporary folder; each process starts in an empty one of its own, which is
            deleted when the process ends.
        make_command: returns the command that starts the process and its environment variables, instead of ours.
        longest_wait_seconds: how long a request waits for those of other threads; by default until they have ended.
    """

    def __init__(
        self,
        module: str,
        name: str,
        timeout_seconds: float | None = None,
        folder: str | None = None,
        make_command: Callable[[], tuple[list[str], dict[str, str]]] | None = None,
        longest_wait_seconds: float | None = None,
    ) -> None:
        self.module, self.name, self.timeout_seconds, self.folder = module, name, timeout_seconds, folder
        self.longest_wait_seconds = longest_wait_seconds
        self._make_command = make_command or self._own_command
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._folder: str | None = None
        _helpers.add(self)

    def call(self, **request: Any) -> dict[str, Any]:
        """Send a request and return the response.

        Raises:
            ProcessTimeout: if it takes too long.
            HelperBusy: if it has to wait too long for others.
            EnvironmentFailure: if the process ends without a response `MAX_ATTEMPTS` times.
        """
        line = json.dumps(request) + "\n"
        if not self._lock.acquire(timeout=-1 if self.longest_wait_seconds is None else self.longest_wait_seconds):
            raise HelperBusy(f"{self.name} is busy with other requests.")
        try:
            for _ in range(MAX_ATTEMPTS):
                response, is_late = self._exchange(line)
                if response:
                    decoded: dict[str, Any] = json.loads(response)
                    return decoded
                if is_late or _has_used_its_time(self._stop()):
                    self._stop()
                    raise ProcessTimeout(f"{self.name} took too much time.")
        finally:
            self._lock.release()
        raise EnvironmentFailure(f"{self.name} ends before it answers.")

    @property
    def has_process(self) -> bool:
        """Whether the process has been started and not ended by us."""
        return self._process is not None

    def close(self) -> None:
        """End the process; the next request starts another one."""
        with self._lock:
            self._stop()

    def detach(self) -> None:
        """Leave the process to the parent after a fork: two processes on one pipe would read each other's responses."""
        self._lock, self._process = threading.Lock(), None

    def _exchange(self, line: str) -> tuple[str, bool]:
        """Return the response, empty if the process ended, and whether it was killed because of the timeout."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        is_late = threading.Event()
        timer = None
        if self.timeout_seconds is not None:
            timer = threading.Timer(self.timeout_seconds, _kill_late, (process, is_late))
        try:
            process.stdin.write(line)
            process.stdin.flush()
            if timer is not None:
                timer.start()
            return process.stdout.readline(), is_late.is_set()
        except OSError:
            return "", is_late.is_set()
        except BaseException:  # after an interrupt, the next request would read the response to this one
            self._stop()
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def _start(self) -> subprocess.Popen[str]:
        self._folder = tempfile.mkdtemp(prefix=self.folder) if self.folder else None
        command, environment = self._make_command()
        self._process = _starter.start(
            lambda: subprocess.Popen(  # noqa: S603 (our own program)
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                env=environment,
                cwd=self._folder,
            )
        )
        return self._process

    def _own_command(self) -> tuple[list[str], dict[str, str]]:
        """The command and the environment of a process with all our rights."""
        environment = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"}
        path = [os.getcwd() if entry == "" else entry for entry in sys.path]
        folder_arguments = [self._folder] if self._folder else []
        command = [sys.executable, "-W", "ignore", "-c", _START, json.dumps(path), self.module, *folder_arguments]
        return command, environment

    def _stop(self) -> int | None:
        """End the process, if there is one, and return its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # closing flushes, which fails if the process has ended
                pipe.close()  # type: ignore[union-attr]
        try:
            return process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()
        finally:
            if self._folder:
                shutil.rmtree(self._folder, ignore_errors=True)


class HelperPool:
    """Several helpers of one kind, so that a slow request does not hold up others. A killed process is replaced.

    Args:
        make_helper: makes a helper.
        size: the number of requests that are served at the same time; the others wait in the order of their arrival.
            A process is started only when all others are busy.
    """

    def __init__(self, make_helper: Callable[[], HelperProcess], size: int) -> None:
        self.helpers = [make_helper() for _ in range(size)]
        self.detach()
        _helpers.add(self)

    def call(self, **request: Any) -> dict[str, Any]:
        """Send a request to a helper that is free (see `HelperProcess.call`)."""
        helper = self._take()
        try:
            return helper.call(**request)
        finally:
            with self._freed:
                self._free.append(helper)
                self._freed.notify_all()

    def close(self) -> None:
        """End the processes; the next requests start others."""
        for helper in self.helpers:
            helper.close()

    def detach(self) -> None:
        """Leave the processes to the parent after a fork (see `HelperProcess.detach`)."""
        self._free = list(self.helpers)
        self._line: deque[object] = deque()
        """Requests that have no helper yet, in the order of their arrival."""
        self._freed = threading.Condition()

    def _take(self) -> HelperProcess:
        """A helper, as soon as one is free and everybody who came before has one."""
        ticket = object()
        with self._freed:
            self._line.append(ticket)
            try:
                self._freed.wait_for(lambda: self._free and self._line[0] is ticket)
                helper = next((helper for helper in self._free if helper.has_process), self._free[0])
                self._free.remove(helper)
                return helper
            finally:
                self._line.remove(ticket)
                self._freed.notify_all()  # the next in line may find a helper as well


class _Starter:
    """Starts processes from a thread that lasts as long as this process, whichever threads ask for them.

    The kernel ends a confined process (PR_SET_PDEATHSIG) together with the thread that started it.
    """

    _has_thread: bool

    def __init__(self) -> None:
        self.detach()

    @property
    def thread_count(self) -> int:
        """How many threads it has: one as soon as something was started."""
        return int(self._has_thread)

    def start(self, start: Callable[[], subprocess.Popen[str]]) -> subprocess.Popen[str]:
        """Call `start` in that thread."""
        with self._lock:
            if not self._has_thread:
                threading.Thread(target=self._serve, name="starter of helpers", daemon=True).start()
                self._has_thread = True
        started: Future[subprocess.Popen[str]] = Future()
        self._orders.put((start, started))
        return started.result()

    def detach(self) -> None:
        """Begin anew after a fork, which copies no thread."""
        self._lock = threading.Lock()
        self._has_thread = False
        self._orders: SimpleQueue[tuple[Callable[[], subprocess.Popen[str]], Future[subprocess.Popen[str]]]]
        self._orders = SimpleQueue()

    def _serve(self) -> None:
        while True:
            start, started = self._orders.get()
            try:
                started.set_result(start())
            except Exception as error:  # noqa: BLE001 (raised again where the process is awaited)
                started.set_exception(error)


def _kill_late(process: subprocess.Popen[str], is_late: threading.Event) -> None:
    is_late.set()
    process.kill()


_starter = _Starter()
_helpers: weakref.WeakSet[HelperProcess | HelperPool] = weakref.WeakSet()


def _detach_all() -> None:
    _starter.detach()
    for helper in list(_helpers):
        helper.detach()


def _close_all() -> None:
    for helper in list(_helpers):
        helper.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_detach_all)
atexit.register(_close_all)
