"""The stack from start to end: lock the state folder, start the servers, migrate, serve, run workers, stop."""

import errno
import http.client
import signal
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from types import FrameType

from gemweb.local import services
from gemweb.local.config import ROOT, WILDCARD, StackConfig
from gemweb.local.errors import StackError
from gemweb.local.guard import GuardProcess
from gemweb.local.process import Running, Service
from gemweb.local.servers.external import require_postgres, require_valkey
from gemweb.local.servers.postgres import Postgres, home_of
from gemweb.local.servers.valkey import Valkey
from gemweb.local.state import StateFolder, secret
from gemweb.local.supervisor import Console, Supervisor

TICK_SECONDS = 0.1
SERVED_SECONDS = 60.0
MAX_DEATHS = 3
"""If the web process dies this often before its first page, the start fails."""


class Stopped(Exception):
    """Raised by the handler of SIGINT, SIGTERM and SIGHUP."""


class Stack:
    """One stack; `run` returns when it is stopped."""

    def __init__(self, config: StackConfig, console: Console) -> None:
        self._config = config
        self._console = console
        self._state = StateFolder(config.state_dir)
        self._stopping = False

    def run(self) -> None:
        """Serve until the stack is stopped."""
        self._state.open()  # first, because this waits until a killed stack has released its port
        listener = listen(self._config)
        self._config = replace(self._config, port=listener.getsockname()[1])
        self._guard = GuardProcess(keep_open=(self._state.lock,))
        self._supervisor = Supervisor(self._guard, self._console, self._config.state_dir / "services.json")
        _on_signals(self._stop_now)
        try:
            self._start(listener)
            while True:
                self._supervisor.tick()
                self._pause(TICK_SECONDS)
        except Stopped:
            self._console.say("stopping")
        finally:
            _on_signals(signal.SIG_IGN)
            listener.close()
            self._stop()

    def _start(self, listener: socket.socket) -> None:
        database_url, valkey_url = self._servers()
        (self._config.state_dir / "static").mkdir(exist_ok=True)  # the settings refer to it, even if it stays empty
        env = services.environment(self._config, database_url, valkey_url)
        self._migrate(env)
        self._supervisor.start(services.web(env, listener))
        self._wait_served()
        self._console.plain(f"ready: {self._config.url()}")
        for worker in services.workers(env):
            self._supervisor.start(worker)
        self._supervisor.once(services.commands(env, "demo", *(["login_link"] if env["LOCAL_MODE"] == "1" else [])))
        if env.get("TRAINING") != "0":
            self._supervisor.once(services.training(env))

    def _servers(self) -> tuple[str, str]:
        """Start the servers that the user did not provide, both at the same time."""
        waits: list[tuple[Postgres | Valkey, Running]] = []
        config, state = self._config, self._config.state_dir
        database_url, valkey_url = config.database_url, config.valkey_url
        if database_url:
            require_postgres(database_url)
        if valkey_url:
            require_valkey(valkey_url)
        else:
            valkey = Valkey(state / "valkey", state / "valkey_password")
            valkey.prepare()
            waits.append((valkey, self._supervisor.start(valkey.service())))
            valkey_url = valkey.url
        if not database_url:
            postgres = Postgres(home_of(state), state / "postgres_password")
            if not postgres.data.exists():
                self._console.say("making a database")
            postgres.prepare()
            for note in postgres.notes:
                self._console.say(note)
            waits.append((postgres, self._supervisor.start(postgres.service())))
            database_url = postgres.url
        for server, running in waits:
            server.wait(running)
        return database_url, valkey_url

    def _migrate(self, env: Mapping[str, str]) -> None:
        """Migrate the database, unless the embedded database has exactly these migrations already."""
        stamp = self._config.state_dir / "migrated"
        digest = "" if self._config.database_url else migrations_digest(self._password())
        names = [] if digest and stamp.exists() and stamp.read_text() == digest else ["migrate"]
        if env["LOCAL_MODE"] != "1":
            names.append("collectstatic")
        if not names:
            return
        self._console.say("preparing the database")
        self._finish(services.commands(env, *names))
        stamp.write_text(digest)

    def _password(self) -> str:
        """The password of the database. Every embedded database has a new one, so it identifies the database."""
        return secret(self._config.state_dir / "postgres_password")

    def _finish(self, service: Service) -> None:
        running = self._supervisor.once(service)
        while not running.ended():
            self._pause(0.02)
        if running.process.returncode:
            raise StackError(f"The database could not be prepared: {running.last_words()}")

    def _wait_served(self) -> None:
        deadline = time.monotonic() + SERVED_SECONDS
        while not served(self._config):
            self._supervisor.tick()
            if self._supervisor.deaths("web") >= MAX_DEATHS:
                raise StackError(f"The web process did not start: {self._supervisor.last_words('web')}")
            if time.monotonic() > deadline:
                raise StackError(f"No page was served within {SERVED_SECONDS:.0f} s; the lines above say why.")
            self._pause(0.02)

    def _stop_now(self, _number: int, _frame: FrameType | None) -> None:
        _on_signals(signal.SIG_IGN)  # ignore further signals; stopping takes a few seconds at most
        self._stopping = True
        raise Stopped

    def _pause(self, seconds: float) -> None:
        """Sleep, then check for a stop signal, because an exception that is raised in a `__del__` method is lost."""
        time.sleep(seconds)
        if self._stopping:
            raise Stopped

    def _stop(self) -> None:
        self._console.quiet = True
        self._supervisor.stop(last=("postgres", "valkey"))
        self._guard.dismiss()
        self._state.close()


def _on_signals(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, handler)


UNENCRYPTED = (
    "On BIND={bind}, passwords would cross the network unencrypted: leave BIND unset and use a proxy with a "
    "certificate, or set TLS_IN_FRONT=1 if something in front encrypts the connection."
)


def listen(config: StackConfig) -> socket.socket:
    """The listening socket for the web process.

    Raises:
        StackError: if the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in config.bind else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Accepted connections inherit this option. uvicorn does not set it for a socket that it is given, and a response
    # in two pieces would then wait 40 ms for the acknowledgement of the first piece.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listener.bind((config.bind, config.port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise _cannot_listen(config, error) from error
    if not (config.local or config.is_encrypted):
        listener.close()
        raise StackError(UNENCRYPTED.format(bind=config.bind))
    return listener


def _cannot_listen(config: StackConfig, error: OSError) -> StackError:
    where = f"Port {config.port} on {config.bind}"
    if error.errno == errno.EADDRINUSE:
        return StackError(
            f"{where} is in use: stop the program that uses it, or choose another port, such as PORT={config.port + 1}."
        )
    if error.errno in {errno.EACCES, errno.EPERM}:
        return StackError(f"{where} is not allowed for this account: choose a port above 1023, for example PORT=8000.")
    return StackError(f"BIND={config.bind} is no address of this machine: use 127.0.0.1, or 0.0.0.0 for every address.")


def served(config: StackConfig) -> bool:
    """Whether the home page can be loaded."""
    connection = http.client.HTTPConnection(WILDCARD.get(config.bind, config.bind), config.port, timeout=2)
    try:
        connection.request("GET", "/")
        response = connection.getresponse()
        response.read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return response.status < 500


def migrations_digest(database: str) -> str:
    """A digest of a database's identity and of everything that determines its tables."""
    digest = sha256(database.encode())
    for path in sorted([*ROOT.glob("apps/*/migrations/*.py"), *ROOT.glob("requirements*.lock")]):
        digest.update(str(path.relative_to(ROOT)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
