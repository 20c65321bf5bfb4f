"""A whole site for the walks: its own database, a web process, a Celery worker with its scheduler, a play worker.

It is apart from the test database, so that other tests may empty theirs while it runs.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection

from tests import databases, warm
from tests.services import ROOT, valkey_database

START_SECONDS = 180.0
LEASE_SECONDS = "18"
"""Heartbeats and searches for lost work come every four seconds: with a lease of two seconds they took a seventh of a
core, all the time. No walk kills a worker."""


class Site:
    """The address of a running site, and its processes."""

    def __init__(self, database: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = Path(tempfile.mkdtemp(prefix="gemweb-walks-"))
        self.log = self.folder / "log"
        self.env = _environment(database, self.folder)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Make the tables and the demo data, then start every process and wait for the first page."""
        assert self._run("commands", ["gemweb.local.commands", "migrate", "demo"]).wait() == 0, self.output()
        assert self._run("rows", ["tests.walks.rows"]).wait() == 0, self.output()
        self.start_web()
        queues = "evaluate,verify,train,reap"
        celery = ["celery", "-A", "gemweb", "worker", "-Q", queues, "-c", "2", "--loglevel", "WARNING"]
        self._run("worker", [*celery, "--beat"])
        self._run("play", ["workers.play"])
        self.wait()

    def start_web(self) -> None:
        """Start the web process; `kill("web")` before that is a crash."""
        options = ["--loop", "uvloop", "--http", "httptools", "--ws", "websockets-sansio", "--log-level", "warning"]
        self._run("web", ["uvicorn", "gemweb.asgi:application", "--port", str(self.port), *options])

    def wait(self) -> None:
        """Return once a page is served."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(f"{self.url}/account/login/", timeout=5).read()
            except OSError:
                assert self.processes["web"].poll() is None, self.output()
                time.sleep(0.05)
            else:
                return
        raise AssertionError(f"no page was served in {START_SECONDS:.0f} s:\n{self.output()}")

    def kill(self, name: str) -> None:
        """kill -9 of one process."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def stop(self) -> None:
        """End everything."""
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def output(self) -> str:
        """The last lines that the processes printed."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-60:]) if self.log.exists() else ""

    def _run(self, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            self.processes[name] = warm.popen(
                "web",
                [sys.executable, "-m", "tests.walks.shortened", *command],
                cwd=ROOT,
                env=self.env,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        return self.processes[name]


@contextmanager
def running_site(name: str) -> Iterator[Site]:
    """A site with a database of its own called `name`; both are gone after the block."""
    databases.create(name, databases.migrated())
    site = Site(name)
    try:
        site.start()
        yield site
    finally:
        site.stop()
        databases.drop(name)


def _environment(database: str, folder: Path) -> dict[str, str]:
    from django.conf import settings

    known = connection.settings_dict
    host = f"{known['HOST']}:{known['PORT']}" if known["PORT"] else known["HOST"]
    valkey = valkey_database(settings.VALKEY_URL, 1)
    return {
        **os.environ,
        "DATABASE_URL": f"postgres://{known['USER']}:{known['PASSWORD']}@{host}/{database}",
        "VALKEY_URL": valkey,
        "BROKER_URL": valkey,
        "SECRET_KEY": settings.SECRET_KEY,
        "STATE_DIR": str(folder),
        "ENDPOINT_KEYS_FILE": str(settings.ENDPOINT_KEYS_FILE),  # tests and the site write rows for each other
        "LOCAL_MODE": "1",
        "DEBUG": "0",
        "LEASE_SECONDS": LEASE_SECONDS,
        "LOG_LEVEL": "WARNING",
    }
