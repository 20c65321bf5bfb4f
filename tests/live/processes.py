"""Real web processes and hosts on the test database, and what the tests do to them."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from gemweb.local import services
from gemweb.local.guard import GuardProcess
from gemweb.local.process import Running
from tests import warm

WAIT_SECONDS = 60.0


class Warm(Running):
    """A service that was forked from a process with its packages; the guard sees to its end all the same."""

    def _start(self) -> subprocess.Popen[bytes]:
        service = self.service
        return warm.popen(
            "web",
            list(map(str, service.command)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=service.env,
            cwd=service.cwd,
            pass_fds=service.pass_fds,
            start_new_session=True,
        )


@dataclass
class Web:
    """One web process."""

    running: Running
    port: int

    def watch(
        self, path: str, *, cookie: str = "", origin: str | None = None, after: int = 0, audience: str = "watch"
    ) -> ClientConnection:
        """Open a socket at `/live/<path>/`."""
        headers = {"Cookie": cookie} if cookie else {}
        return connect(
            f"ws://127.0.0.1:{self.port}/live/{path}/?after={after}&audience={audience}",
            origin=origin if origin is not None else f"http://127.0.0.1:{self.port}",  # type: ignore[arg-type]
            additional_headers=headers,
            compression=None,
            max_size=None,
        )


@dataclass
class Fleet:
    """Processes that end with the test."""

    guard: GuardProcess
    env: dict[str, str]
    started: list[Running] = field(default_factory=list)

    def web(self, port: int = 0, **more: str) -> Web:
        """A web process that answers already."""
        with socket.create_server(("127.0.0.1", port)) as listener:
            running = self._start(services.web(self.env | more, listener))
            port = listener.getsockname()[1]
        wait_for(lambda: _answers(port) or running.ended(), f"the web process: {running.last_words()}")
        return Web(running, port)

    def host(self, module: str = "workers.play", **more: str) -> Running:
        """A host of live episodes, or `module`, which runs one."""
        found = next(service for service in services.workers(self.env | more) if service.name == "play")
        return self._start(replace(found, command=[*found.command[:-1], module]))

    def stop(self) -> None:
        """End what is left."""
        for running in self.started:
            running.signal(signal.SIGKILL)
            running.process.wait()

    def _start(self, service: services.Service) -> Running:
        running = Warm(service, self.guard)
        self.started.append(running)
        return running


@contextmanager
def fleet_on(database_url: str, **more: str) -> Iterator[Fleet]:
    """Processes on this database."""
    guard = GuardProcess()
    env = {"DATABASE_URL": database_url, "STATE_DIR": os.environ["STATE_DIR"]}
    fleet = Fleet(guard, dict(os.environ) | env | more)
    try:
        yield fleet
    finally:
        fleet.stop()
        guard.dismiss()


def test_database_url() -> str:
    """The address of the database that pytest-django made."""
    from django.db import connection

    found = connection.settings_dict
    who = f"{quote(found['USER'])}:{quote(found['PASSWORD'], safe='')}" if found["USER"] else ""
    where = f"{found['HOST']}:{found['PORT']}" if not found["HOST"].startswith("/") else quote(found["HOST"], safe="")
    return f"postgres://{who}@{where}/{found['NAME']}"


def wait_for(true: Callable[[], object], what: str, seconds: float = WAIT_SECONDS) -> None:
    """Return when `true()`; fail after a while."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"waited {seconds:g} s for {what}"
        time.sleep(0.05)


def closed_with(connection: ClientConnection, seconds: float = WAIT_SECONDS) -> int | None:
    """The code with which the other side closes; messages before it are skipped."""
    deadline = time.monotonic() + seconds
    with suppress(TimeoutError):
        while time.monotonic() < deadline:
            try:
                connection.recv(timeout=deadline - time.monotonic())
            except ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd else 1006
    return None


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as probe:
        probe.sendall(b"GET /health.json HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        return probe.recv(12).startswith(b"HTTP/1.1")
    return False
