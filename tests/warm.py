"""Python processes that begin warm: forked from one that has imported beforehand what they would import.

A web process, a worker or a training takes one or two seconds of a core until it has imported its packages, and the
tests start more than a hundred. What is forked here is a process like any other from there on: it has the environment,
the files and the session that it is given, runs its module as `__main__`, takes signals and ends as Python ends. Only
the stack of `make up`, in `tests/platform`, is started cold, as people start it.

    warm.popen("web", [sys.executable, "-m", "gemweb.serve", "--port", "8000"], env=env)

A process of the site takes most of a second more to read its settings and its own modules. So the first one is forked
from a process that has done this too, and so is every later one whose environment says the same: a process that is
ready for an environment knows which variables were read until then (`_Ready`).
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
        "gem.rollout", "gem.evaluation.spec", "gem.tools", "gem.training.run_folder", "gem.training.spec",
        "gem.wrappers", "httptools", "kombu.transport.redis", "markdown_it", "nh3", "prometheus_client",
        "psutil", "psycopg_pool", "pydantic", "redis.asyncio", "rich.traceback", "structlog.dev",
        "uvicorn.protocols.http.httptools_impl", "uvicorn.protocols.websockets.websockets_sansio_impl",
        "uvloop", "whitenoise.middleware",
    ),
    "training": ("torch", "safetensors.torch", "gem.training.__main__", "gem.training.trainer"),
}  # fmt: skip
"""What each kind of process imports, apart from what reads the settings."""


SITE = (
    "apps.accounts.request_limits", "apps.api.tokens", "apps.jobs.leases", "apps.live.origin", "apps.live.routing",
    "apps.live.server_sent", "gemweb.bodies", "gemweb.celery", "gemweb.handler", "gemweb.upload_gate", "gemweb.urls",
)  # fmt: skip
"""What processes of the site import once they have read the settings. None is of `workers`: these modules share memory
with the processes that are forked from them."""
SITE_COMMANDS = {"celery", "gemweb.local.commands", "gemweb.serve", "uvicorn", "workers.play"}
MOST_READY = 4


def popen(kind: str, command: list[str], **settings: Any) -> subprocess.Popen[Any]:
    """As `subprocess.Popen`, for `python -m` and `python -c` commands and without `preexec_fn`."""
    return _Forked(command, kind=kind, lasting=True, **settings)


def run(kind: str, command: list[str], said: str = "", **settings: Any) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` with `said` as the input and both outputs captured as text."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with _Forked(command, kind=kind, lasting=False, text=True, **pipes, **settings) as process:
        try:
            out, err = process.communicate(said, timeout=120)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


class _Forked(subprocess.Popen[Any]):
    """A process that the warm one forks: that is its parent, and says how it ended."""

    def __init__(self, command: list[str], *, kind: str, lasting: bool, **settings: Any) -> None:
        self._warm, self._lasting = _warm(kind), lasting
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
        if self._lasting:
            self._warm = self._warm.ready_for(task)
        answer = self._warm.ask(task, [*streams, *pass_fds])
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
                self.returncode = self._warm.ask({"ended": self.pid})["code"]
                os.close(self._alive)
        return cast("int | None", self.returncode)


class _Line:
    """A process that forks others, seen from the tests."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line

    def ask(self, message: dict[str, Any], files: list[int] | None = None) -> dict[str, Any]:
        """Send an order and return the answer."""
        socket.send_fds(self._line, [json.dumps(message).encode()], files or [])
        answer: dict[str, Any] = json.loads(self._line.recv(MOST_BYTES))
        return answer


class _Ready(_Line):
    """A process that has read the settings of an environment, and has imported what it can of the site."""

    def __init__(self, line: socket.socket, command: str, environment: dict[str, str]) -> None:
        super().__init__(line)
        self._command = command
        said = line.recv(MOST_BYTES)
        self.failed = not said
        names = json.loads(said)["read"] if said else []
        self._read = {name: environment.get(name) for name in [*names, "PYTHONPATH"]}

    def is_for(self, command: str, environment: dict[str, str]) -> bool:
        """Whether the command would be as ready in this environment."""
        same = all(environment.get(name) == value for name, value in self._read.items())
        return same and (command == self._command or "gemweb.serve" not in (command, self._command))


class _Warm(_Line):
    """The process that has imported everything which does not read the settings."""

    def __init__(self, kind: str) -> None:
        line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        super().__init__(line)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm", kind, str(theirs.fileno())],
            cwd=ROOT,
            env={name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"},  # not yet
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        self._ready: list[_Ready] = []
        atexit.register(self.end)

    def ready_for(self, task: dict[str, Any]) -> _Line:
        """From what to fork a process with this task: if it is one of the site, from one that is ready for it."""
        command = next((word for word in task["command"] if word in SITE_COMMANDS), "")
        if not command or task["cwd"] != str(ROOT):
            return self
        found = next((ready for ready in self._ready if ready.is_for(command, task["env"])), None)
        if found is None:
            line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self.ask({"ready": command, "cwd": task["cwd"], "env": task["env"]}, [theirs.fileno()])
            found = _Ready(line, command, task["env"])
            if found.failed:
                return self
        self._ready = [found, *(ready for ready in self._ready if ready is not found)][:MOST_READY]
        return found

    def end(self) -> None:
        """End it; those that it forked go on."""
        self._ready = []
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
    line, further = socket.socket(fileno=fd), dict[str, str]()
    while task := _next_task(line):
        if "ready" not in task:
            task["env"] |= further
            _end(_code_of(task))
        line = socket.socket(fileno=task["given"][0])
        try:
            further = _get_ready(task, line)
        except Exception:  # noqa: BLE001 (the process that cannot begin in this environment says why)
            os._exit(1)
        gc.freeze()


def _get_ready(task: dict[str, Any], line: socket.socket) -> dict[str, str]:
    """Import the site in the environment of a task; say which variables were read, and return those that it has set."""
    os.environ.clear()
    os.environ.update(task["env"])
    os.chdir(task["cwd"])
    read, get = set[str](), os.environ.__class__.__getitem__

    def noted(environ: Any, name: str) -> str:
        read.add(name)
        return get(environ, name)

    os.environ.__class__.__getitem__ = noted  # type: ignore[method-assign]
    try:
        if task["ready"] == "gemweb.serve":
            serve = importlib.import_module("gemweb.serve")
            os.environ.setdefault("STATEMENT_SECONDS", serve.STATEMENT_SECONDS)
            del sys.modules["gemweb.serve"]  # it is run as a module that nobody has imported
        importlib.import_module("django").setup()
        for name in SITE:
            importlib.import_module(name)
    finally:
        os.environ.__class__.__getitem__ = get  # type: ignore[method-assign]
    assert threading.active_count() == 1  # others would not be forked
    assert not any(name.startswith("workers.") for name in sys.modules)
    line.send(json.dumps({"read": sorted(read)}).encode())
    return {name: value for name, value in os.environ.items() if task["env"].get(name) != value}


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
