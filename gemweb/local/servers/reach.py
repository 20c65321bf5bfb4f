"""Access to the database of a state folder for commands outside the stack."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gemweb.local.config import StackConfig
from gemweb.local.guard import GuardProcess
from gemweb.local.process import Running
from gemweb.local.servers.external import require_postgres
from gemweb.local.servers.postgres import Postgres, home_of


@contextmanager
def database(config: StackConfig) -> Iterator[str]:
    """The address of the database: the external one, the one of a running stack, or a server started meanwhile."""
    if config.database_url:
        require_postgres(config.database_url)
        yield config.database_url
        return
    server = Postgres(home_of(config.state_dir), config.state_dir / "postgres_password")
    port = _port_of(server)
    if port:
        yield server.url.replace(f":{server.port}/", f":{port}/")
        return
    guard = GuardProcess()
    server.prepare()
    running = Running(server.service(), guard)
    try:
        server.wait(running)
        yield server.url
    finally:
        running.process.send_signal(running.service.polite)
        with suppress(subprocess.TimeoutExpired):
            running.process.wait(60)
        guard.dismiss()


def _port_of(server: Postgres) -> int:
    """The port of the running database of the folder; 0 if it does not run."""
    try:
        lines = (server.data / "postmaster.pid").read_text().splitlines()
        os.kill(int(lines[0]), 0)
    except (OSError, ValueError, IndexError):
        return 0
    return int(lines[3]) if len(lines) >= 8 and lines[7].strip() == "ready" else 0
