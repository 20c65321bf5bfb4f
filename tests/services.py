"""Real services for the tests: an ephemeral Postgres and Valkey, a whole running stack, and a browser."""

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from gemweb.local.guard import GuardProcess
from gemweb.local.process import Running, server_folder
from gemweb.local.servers.postgres import Postgres
from gemweb.local.servers.valkey import Valkey

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 180
STOP_SECONDS = 30
MEMORY = Path("/dev/shm")
"""Where Linux keeps files in memory. A file system on a disk takes a second of a core to truncate all tables, of which
each has half a dozen files."""
MEMORY_BYTES = 2 * 2**30
"""So much has to be free there. The databases of the tests take a tenth of it, and their log half of it at most."""


class Services:
    """Postgres and Valkey of one test session; deleted at its end, even when it is killed."""

    def __init__(self) -> None:
        self._guard = GuardProcess()
        self._running: list[Running] = []
        self.folder = server_folder("gemweb-test-", _quickest_place())
        self._guard.remove(self.folder)

    def postgres(self) -> str:
        """Start Postgres and return its DATABASE_URL."""
        server = Postgres(self.folder / "postgres", self.folder / "postgres-password", durable=False)
        server.prepare()
        server.wait(self._run(server))
        return server.url

    def valkey(self) -> str:
        """Start Valkey and return its VALKEY_URL."""
        server = Valkey(self.folder / "valkey", self.folder / "valkey-password")
        server.prepare()
        server.wait(self._run(server))
        return server.url

    def stop(self) -> None:
        """End both; the guard deletes their folder."""
        for running in self._running:
            running.signal(running.service.hard)
            running.process.wait()
        self._guard.dismiss()

    def _run(self, server: Postgres | Valkey) -> Running:
        running = Running(server.service(), self._guard)
        self._running.append(running)
        return running


def _quickest_place() -> Path | None:
    """Where files are made and deleted fastest; None for where temporary files usually are."""
    has_room = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= MEMORY_BYTES
    return MEMORY if has_room and os.access(MEMORY, os.W_OK) else None


def start_services(env: MutableMapping[str, str], *, shared_only: bool = False) -> Services | None:
    """Start what `env` does not name yet, and name it there; with `shared_only` what several processes can share.

    Each process has databases of its own in one Postgres, but the channels of a Valkey are common to all of its
    databases: what one process published would reach the other's.
    """
    missing = [name for name in ("DATABASE_URL", "VALKEY_URL") if not env.get(name)]
    if shared_only and "VALKEY_URL" in missing:
        missing.remove("VALKEY_URL")
    if not missing:
        return None
    services = Services()
    if "DATABASE_URL" in missing:
        env["DATABASE_URL"] = services.postgres()
        env["MIGRATED_DATABASE"] = "migrated"
    if "VALKEY_URL" in missing:
        env["VALKEY_URL"] = services.valkey()
    return services


def valkey_database(url: str, further: int) -> str:
    """The address of the numbered database that comes so many after that of `url`, in the same Valkey."""
    parts = urlsplit(url)
    return parts._replace(path=f"/{int(parts.path.strip('/') or 0) + further}").geturl()


class Stack:
    """A whole stack as `make up` runs it: real supervisor, database, broker, web, workers."""

    def __init__(self, state_dir: Path, env: dict[str, str] | None = None) -> None:
        self.state_dir = state_dir
        self.lines: list[str] = []
        own = {"PORT": "0", "BIND": "127.0.0.1", "STATE_DIR": str(state_dir), "PYTHONUNBUFFERED": "1", "TRAINING": "0"}
        inherited = {name: value for name, value in os.environ.items() if name not in INHERITED_BY_TESTS_ONLY}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gemweb.local"],
            cwd=ROOT,
            env=inherited | own | (env or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def url(self) -> str:
        """The address that the stack printed; waits until it did."""
        line = self.wait_for("ready: ")
        return line.partition("ready: ")[2].strip().rstrip("/")

    def wait_for(self, words: str, seconds: float = START_SECONDS) -> str:
        """The first printed line holding `words`."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for line in list(self.lines):
                if words in line:
                    return line
            if self.process.poll() is not None and not any(words in line for line in self.lines):
                time.sleep(0.2)
                break
            time.sleep(0.02)
        raise AssertionError(f"the stack did not say {words!r}; it said:\n" + "\n".join(self.lines[-40:]))

    def pids(self) -> dict[str, int]:
        """The process of each running service, by name."""
        found: dict[str, int] = json.loads((self.state_dir / "services.json").read_text())
        return found

    @property
    def database_url(self) -> str:
        """How the stack's processes reach its database."""
        return self._setting("DATABASE_URL")

    @property
    def valkey_url(self) -> str:
        """How the stack's processes reach its broker."""
        return self._setting("VALKEY_URL")

    def get(self, path: str = "/") -> tuple[int, str]:
        """Fetch a page: status and text; waits for a web process that is starting."""
        with urllib.request.urlopen(self.url + path, timeout=START_SECONDS) as answer:
            return answer.status, answer.read().decode()

    def stop(self, number: int = signal.SIGINT) -> float:
        """End it as Ctrl-C does; returns the seconds it took."""
        started = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(timeout=STOP_SECONDS)
        return time.monotonic() - started

    def end(self) -> None:
        """End it in any case; how quickly is for other tests to judge."""
        if self.process.poll() is None:
            try:
                self.stop()
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """Kill the supervisor without warning."""
        self.process.kill()
        self.process.wait()

    def cancel_jobs(self) -> None:
        """Leave the demo's jobs unplayed: they would take both cores for half a minute."""
        self.wait_for("Log in as the administrator")
        import psycopg  # engine tests run without it

        with psycopg.connect(self.database_url, autocommit=True) as connection:  # workers lock shards before jobs
            connection.execute("update jobs_shard set state = 'cancelled' where state = 'queued'")
            connection.execute("update jobs_job set state = 'cancelled', ended = now() where ended is null")

    def _setting(self, name: str) -> str:
        return psutil.Process(self.pids()["web"]).environ()[name]

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))


INHERITED_BY_TESTS_ONLY = {
    "DATABASE_URL",
    "VALKEY_URL",
    "BROKER_URL",
    "SECRET_KEY",
    "LOCAL_MODE",
    "DEBUG",
    "LEASE_SECONDS",
    "TRANSACTION_SECONDS",
    "PYTEST_CURRENT_TEST",
}
"""What the test session sets for itself and a stack of its own must not see. With leases of two seconds a stack looks
for lost work twice a second, and is never idle."""


@contextmanager
def running_stack(env: dict[str, str] | None = None) -> Iterator[Stack]:
    """A stack, served while the block lasts; nothing of it stays, unless it ran in a folder that was named."""
    named = (env or {}).get("STATE_DIR")
    state_dir = Path(named or tempfile.mkdtemp(prefix="gemweb-stack-"))
    stack = Stack(state_dir, env)
    try:
        yield stack
    finally:
        stack.end()
        if not named:
            forget_state(state_dir)


def forget_state(state_dir: Path) -> None:
    """Delete a state folder and the database that belongs to it."""
    from gemweb.local.servers.postgres import home_of

    shutil.rmtree(home_of(state_dir.resolve()), ignore_errors=True)
    shutil.rmtree(state_dir, ignore_errors=True)


def session_environment(state_dir: str) -> dict[str, str]:
    """What settings need in a test session, beside the services."""
    return {
        "STATE_DIR": state_dir,
        "DJANGO_SETTINGS_MODULE": "gemweb.settings",
        "DJANGO_ALLOW_ASYNC_UNSAFE": "true",  # the browser's own event loop runs in the main thread
        "SECRET_KEY": secrets.token_urlsafe(48),
        "LOCAL_MODE": "1",
        "LEASE_SECONDS": "2",
        "SITE_ROWS": "0",  # tests count jobs, and say themselves which there are
        "TRANSACTION_SECONDS": "0",  # a test may be one transaction
        "STARTS_PER_MINUTE": "100000",  # every test comes from one address
        "SIGNUPS_PER_HOUR": "100000",
        "PASSWORD_CHANGES_PER_HOUR": "100000",
    }


def needs_services(arguments: list[str], base: Path) -> bool:
    """Whether any collected path lies outside the tests of the engine and of the examples, which know no web."""
    alone = {(ROOT / "tests" / name).resolve() for name in ("engine", "examples")}
    paths = [(base / argument.partition("::")[0]).resolve() for argument in arguments]
    return not paths or any(alone.isdisjoint((path, *path.parents)) for path in paths)
