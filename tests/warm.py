"""Python processes that begin warm: forked from one that has imported beforehand what they would import.

A web process, a worker or a training takes one or two seconds of a core until it has imported its packages, and the
tests start more than a hundred. What is forked here is a process like any other from there on: it has the environment,
the files and the session that it is given, runs its module as `__main__`, takes signals and ends as Python ends. Only
the stack of `make up`, in `tests/platform`, is started cold, as people start it.

    warm.popen("web", [sys.executable, "-m", "gemweb.serve", "--port", "8000"], env=env)
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parent.parent
MOST_BYTES, MOST_FILES = 1 << 20, 64
OUT_OF_THE_WAY = 200
"""Files that are handed over get numbers from here on, before they get those that they are wanted at."""
PACKAGES: dict[str, tuple[str, ...]] = {
    "web": (
        "asgiref.server", "celery.app.amqp", "celery.app.defaults", "celery.apps.worker", "celery.beat",
        "celery.bin.celery", "celery.bin.worker", "celery.concurrency.prefork", "celery.concurrency.solo",
        "celery.worker.components", "celery.worker.consumer", "celery.worker.strategy", "channels.auth",
        "channels.routing", "channels.security.websocket", "cryptography.fernet", "csp.middleware",
        "django.contrib.postgres.fields", "django.contrib.staticfiles.handlers", "django.core.handlers.asgi",
        "django.core.management", "django.db.backends.postgresql.base", "django.forms",
        "django.template.defaultfilters", "django.template.loader", "django.test.signals",
        "django_htmx.middleware", "environ", "gem.agents.endpoint", "gem.agents.experts", "gem.check",
        "gem.client.events", "gem.rollout", "gem.evaluation.spec", "gem.tools", "gem.training.run_folder",
        "gem.training.spec", "gem.wrappers", "httptools", "kombu.transport.redis", "markdown_it", "nh3",
        "prometheus_client", "psutil", "psycopg_pool", "pydantic", "redis.asyncio", "rich.traceback", "structlog.dev",
        "uvicorn.protocols.http.httptools_impl", "uvicorn.protocols.websockets.websockets_sansio_impl",
        "uvloop", "whitenoise.middleware",
    ),
    "training": ("torch", "safetensors.torch", "gem.training.__main__", "gem.training.trainer"),
}  # fmt: skip
"""What each kind of process imports, apart from what reads the settings."""


def popen(kind: str, command: list[str], **settings: Any) -> subprocess.Popen[Any]:
    """As `subprocess.Popen`, for `python -m` and `python -c` commands and without `preexec_fn`."""
    return _Forked(command, kind=kind, **settings)


def run(kind: str, command: list[str], said: str = "", **settings: Any) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` with `said` as the input and both outputs captured as text."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with popen(kind, command, text=True, **pipes, **settings) as process:
        try:
            out, err = process.communicate(said, timeout=120)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


class _Forked(subprocess.Popen[Any]):
    """A process that the warm one forks: that is its parent, and says how it ended."""

    def __init__(self, command: list[str], *, kind: str, **settings: Any) -> None:
        self._kind = kind
        super().__init__(command, **settings)

    def _execute_child(self, command: list[str], *settings: Any) -> None:  # type: ignore[override]
        _, preexec_fn, _, pass_fds, cwd, env, _, _, _, reads, feeds, read, writes, heard, complains, *others = settings
        assert preexec_fn is None
        task = {
            "command": list(map(str, command[1:])),
            "cwd": str(cwd or os.getcwd()),
            "env": dict(os.environ if env is None else env),
            "session": others[-2],
            "files": [0, 1, 2, *pass_fds],
        }
        streams = [place if given == -1 else given for place, given in enumerate((reads, writes, complains))]
        answer = _warm(self._kind).ask(task, [*streams, *pass_fds])
        self.pid = answer["pid"]
        self._child_created = True
        self._alive = os.pidfd_open(self.pid)
        for pipe in {(reads, feeds), (writes, read), (complains, heard)}:
            if -1 not in pipe:  # the other end is ours
                os.close(pipe[0])

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended.

        Raises:
            subprocess.TimeoutExpired: after so many seconds.
        """
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return code

    def _look(self, seconds: float | None) -> int | None:
        if self.returncode is None:
            poll = select.poll()
            poll.register(self._alive, select.POLLIN)
            if poll.poll(None if seconds is None else seconds * 1000):
                self.returncode = _warm(self._kind).ask({"ended": self.pid})["code"]
                os.close(self._alive)
        return cast("int | None", self.returncode)


class _Warm:
    """The process that has imported everything, seen from the tests."""

    def __init__(self, kind: str) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm", kind, str(theirs.fileno())],
            cwd=ROOT,
            env={name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"},  # not yet
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        atexit.register(self.end)

    def ask(self, message: dict[str, Any], files: list[int] | None = None) -> dict[str, Any]:
        """Send an order and return the answer."""
        socket.send_fds(self._line, [json.dumps(message).encode()], files or [])
        answer: dict[str, Any] = json.loads(self._line.recv(MOST_BYTES))
        return answer

    def end(self) -> None:
        """End it; those that it forked go on."""
        self._line.close()
        self._process.wait()


@functools.cache
def _warm(kind: str) -> _Warm:
    return _Warm(kind)


# ------------------------------------------------------------------ the warm process


def main(kind: str, fd: int) -> None:
    """Import, then fork a process for each order; in that process, do what it is for."""
    for name in PACKAGES[kind]:
        importlib.import_module(name)
    gc.freeze()  # what is imported stays, and stays shared
    task = _next_task(socket.socket(fileno=fd))
    if task is not None:
        _end(_code_of(task))


def _code_of(task: dict[str, Any]) -> int:
    """Do what the command does; how it ended, as Python says it."""
    try:
        _be(task)
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        print(ended.code, file=sys.stderr)
        return 1
    except BaseException:  # noqa: BLE001 (whatever the command raises is its own)
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end(code: int) -> None:
    """As Python ends a process, without taking the imported packages apart, which takes half a second."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code & 0xFF)


def _next_task(line: socket.socket) -> dict[str, Any] | None:
    """In a forked process its task, with its files; nothing once the tests have gone."""
    ended: dict[int, int] = {}
    while True:
        data, files, _, _ = socket.recv_fds(line, MOST_BYTES, MOST_FILES)
        if not data:
            return None
        message: dict[str, Any] = json.loads(data)
        if "ended" in message:
            pid = message["ended"]
            ended[pid] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            line.send(json.dumps({"code": ended[pid]}).encode())
            continue
        pid = os.fork()
        if pid == 0:
            line.close()
            return {**message, "given": files}
        for fd in files:
            os.close(fd)
        line.send(json.dumps({"pid": pid}).encode())


def _be(task: dict[str, Any]) -> None:
    """Become the process of the command."""
    if task["session"]:
        os.setsid()
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY) for fd in task["given"]]
    os.closerange(3, OUT_OF_THE_WAY)
    for fd, place in zip(moved, task["files"], strict=True):
        os.dup2(fd, place)
        os.close(fd)
    os.environ.clear()
    os.environ.update(task["env"])
    os.chdir(task["cwd"])
    time.tzset()
    through = bool(task["env"].get("PYTHONUNBUFFERED"))
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 (as long as the process)
    sys.stdout = open(1, "w", buffering=-1, closefd=False)  # noqa: SIM115
    sys.stdout.reconfigure(write_through=through)
    sys.stderr = open(2, "w", buffering=1, closefd=False, errors="backslashreplace")  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)
    words = task["command"]
    while words[0] == "-W":
        words = words[2:]
    kind, what, *arguments = words
    sys.path[0] = "" if kind == "-c" else task["cwd"]
    further = task["env"].get("PYTHONPATH", "").split(os.pathsep)  # an interpreter reads it once, at its start
    sys.path[1:1] = [folder for folder in further if folder and folder not in sys.path]
    if kind == "-c":
        sys.argv = ["-c", *arguments]
        exec(compile(what, "<string>", "exec"), sys.modules["__main__"].__dict__)
    else:
        sys.argv = [what, *arguments]
        runpy.run_module(what, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
