"""What the benchmarks of the live path run on: embedded servers in a temporary folder, and processes beside them."""

import os
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from gemweb.local import services
from gemweb.local.config import StackConfig
from gemweb.local.guard import GuardProcess
from gemweb.local.process import Running, Service, server_folder
from gemweb.local.servers.postgres import Postgres
from gemweb.local.servers.valkey import Valkey

START_SECONDS = 60


class Stack:
    """Postgres (durable, as `make up` runs it) and Valkey with a migrated database, and what is started on them."""

    def __init__(self) -> None:
        self._guard = GuardProcess()
        self._running: list[Running] = []
        self.folder = server_folder("gemweb-bench-")
        self._guard.remove(self.folder)
        self.env: dict[str, str] = {}

    def start(self) -> None:
        """Start the servers and migrate; afterwards this process may use Django too."""
        postgres = Postgres(self.folder / "postgres", self.folder / "postgres-password")
        valkey = Valkey(self.folder / "valkey", self.folder / "valkey-password")
        for server in (postgres, valkey):
            server.prepare()
            server.wait(self.run(server.service()))
        config = replace(StackConfig.from_env({}), state_dir=self.folder)
        self.env = services.environment(config, postgres.url, valkey.url) | {"SOCKETS_PER_ADDRESS": "100000"}
        self.run(services.commands(self.env, "migrate")).process.wait()
        os.environ.update(self.env)
        import django

        django.setup()

    def run(self, service: Service) -> Running:
        """Start a process that ends with the benchmark."""
        running = Running(service, self._guard)
        self._running.append(running)
        return running

    def web(self, application: str = "gemweb.asgi:application", **more: str) -> tuple[Running, int]:
        """A web process as `make up` runs it, serving `application`: the process and its port."""
        listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        service = services.web(self.env | more, listener)
        command = [application if part == "gemweb.asgi:application" else part for part in service.command]
        running = self.run(replace(service, command=command))
        port = int(listener.getsockname()[1])
        deadline = time.monotonic() + START_SECONDS
        while not _answers(port):
            if running.ended() or time.monotonic() > deadline:
                sys.exit(f"The web process did not start: {running.last_words()}")
            time.sleep(0.1)
        listener.close()
        return running, port

    def stop(self) -> None:
        """End everything; the guard deletes the folder."""
        for running in reversed(self._running):
            running.signal(signal.SIGKILL)
            running.process.wait()
        self._guard.dismiss()


@contextmanager
def stack() -> Iterator[Stack]:
    """A stack while the block lasts."""
    made = Stack()
    try:
        made.start()
        yield made
    finally:
        made.stop()


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` of `values` lie; NaN without values."""
    if not values:
        return float("nan")
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def print_table(rows: Sequence[tuple[str, ...]]) -> None:
    """Columns as wide as their widest cell."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(), flush=True)


def machine() -> str:
    """How busy this machine is: latencies of a busy one say little."""
    return f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}"


def root() -> Path:
    """The checkout."""
    return Path(__file__).resolve().parent.parent


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health.json", timeout=10):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
