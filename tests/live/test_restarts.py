"""Valkey and Postgres go away in the middle of a show, and come back: spectators miss nothing."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from websockets.sync.client import ClientConnection

from apps.agents.models import Agent
from apps.play.shows import operations as shows
from gemweb.local.guard import GuardProcess
from gemweb.local.process import Running, server_folder
from gemweb.local.servers.postgres import Postgres
from gemweb.local.servers.valkey import Valkey
from tests.live import processes
from tests.live.processes import fleet_on
from tests.live.test_sockets import ROW, SEQ

pytestmark = pytest.mark.fault

ENV_ID = "game:GuessTheNumber-v0-hard"
LONG = {"min_number": 1, "max_number": 1000, "max_turns": 30}
TURNS = LONG["max_turns"]
ROOT = Path(__file__).resolve().parents[2]


class Server:
    """A database or broker that can be killed and started again in its place."""

    def __init__(self, server: Postgres | Valkey, guard: GuardProcess) -> None:
        self.server = server
        self.guard = guard
        server.prepare()
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.server.prepare()
        self.running = Running(self.server.service(), self.guard)
        self.server.wait(self.running)

    def kill(self) -> None:
        """End it without warning."""
        number = signal.SIGQUIT if isinstance(self.server, Postgres) else signal.SIGKILL
        self.running.signal(number)
        self.running.process.wait()
        assert self.running.ended()


@contextmanager
def guarded() -> Iterator[tuple[GuardProcess, Path]]:
    guard = GuardProcess()
    folder = server_folder("gemweb-restart-")
    guard.remove(folder)
    try:
        yield guard, folder
    finally:
        guard.dismiss()


class Stream:
    """What one spectator got."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.turns: list[int] = []
        self.seq = 0

    def until(self, true: Callable[[], bool], seconds: float) -> None:
        """Read messages until `true()`."""
        deadline = time.monotonic() + seconds
        while not true():
            left = deadline - time.monotonic()
            assert left > 0, f"only turns {self.turns} came"
            try:
                text = str(self.connection.recv(timeout=min(left, 1.0)))
            except TimeoutError:
                continue
            if match := SEQ.match(text):
                assert int(match[1]) > self.seq
                self.seq = int(match[1])
                self.turns += sorted(map(int, ROW.findall(text)))


def test_valkey_restarts_during_a_show(agents: dict[str, Agent]) -> None:
    with guarded() as (guard, folder):
        valkey = Server(Valkey(folder / "valkey", folder / "valkey-password"), guard)
        with fleet_on(
            processes.test_database_url(), VALKEY_URL=valkey.server.url, BROKER_URL=valkey.server.url
        ) as fleet:
            web = fleet.web()
            fleet.host()
            episode = shows.start(ENV_ID, agents["random"], seed=1, pace=0.4, env_kwargs=LONG)
            with web.watch(f"episode/{episode.id}") as connection:
                stream = Stream(connection)
                stream.until(lambda: len(stream.turns) >= 3, 20)
                valkey.kill()
                before = len(stream.turns)
                stream.until(lambda: len(stream.turns) >= before + 4, 15)  # by the recheck
                valkey.start()
                stream.until(lambda: len(stream.turns) == TURNS, 40)
            assert stream.turns == list(range(1, TURNS + 1))


def test_postgres_restarts_during_a_show() -> None:
    with guarded() as (guard, folder):
        postgres = Server(Postgres(folder / "postgres", folder / "postgres-password"), guard)
        with fleet_on(postgres.server.url) as fleet:
            manage(fleet.env, "migrate", "-v", "0")
            web = fleet.web()
            fleet.host()
            said = manage(fleet.env, "shell", "-c", START)
            match = re.search(r"started=(\w+)", said)
            assert match is not None
            with web.watch(f"episode/{match[1]}") as connection:
                stream = Stream(connection)
                stream.until(lambda: len(stream.turns) >= 3, 30)
                postgres.kill()
                time.sleep(2)
                postgres.start()
                stream.until(lambda: len(stream.turns) == TURNS, 60)
            assert stream.turns == list(range(1, TURNS + 1))


START = f"""
from apps.agents.models import Agent
from apps.play.shows import operations as shows
agent = Agent.objects.get(slug="random")
print("started=" + shows.start({ENV_ID!r}, agent, seed=1, pace=0.4, env_kwargs={LONG!r}).id)
"""


def manage(env: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout
