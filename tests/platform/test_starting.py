"""`make up`: what a person gets, and what is left when it ends."""

import re
import signal
from functools import partial
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.live.processes import wait_for
from tests.platform.conftest import Start
from tests.services import Stack, forget_state


def children(stack: Stack) -> list[psutil.Process]:
    return psutil.Process(stack.process.pid).children(recursive=True)


def alive(processes: list[psutil.Process]) -> list[str]:
    return [each.name() for each in processes if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


def loaded_by(process: psutil.Process) -> list[str]:
    return [place.path for place in process.memory_maps()]


def any_loaded(process: psutil.Process, word: str) -> bool:
    return any(word in path for path in loaded_by(process))


def test_the_page_is_served_when_it_says_so(stack: Stack) -> None:
    status, text = stack.get("/")
    assert status == 200
    assert "<html" in text


def test_every_service_runs(stack: Stack) -> None:
    stack.wait_for("Log in as the administrator")
    assert set(stack.pids()) == {"valkey", "postgres", "web", "play", "train", "worker", "scheduler"}
    assert all(psutil.pid_exists(pid) for pid in stack.pids().values())


def test_no_process_loads_what_a_few_requests_need(stack: Stack) -> None:
    stack.wait_for("Log in as the administrator")
    heavy = re.compile(r"/(torch|pyarrow|numpy|sympy)/")
    for name in ("play", "worker", "scheduler"):
        process = psutil.Process(stack.pids()[name])
        wait_for(partial(any_loaded, process, "psycopg"), f"{name} to load Django")
        loaded = loaded_by(process)
        assert [path for path in loaded if heavy.search(path)] == [], name


def test_the_login_link_names_the_served_address(stack: Stack) -> None:
    stack.wait_for("Log in as the administrator")
    link = stack.wait_for(f"{stack.url}/account/")
    path = link.partition(stack.url)[2]
    assert stack.get(path)[0] == 200


def test_lines_say_when_and_who(stack: Stack) -> None:
    line = stack.wait_for("preparing the database")
    assert line[2] == line[5] == ":"
    assert line[9:].startswith("gemweb    | ")


def test_the_application_is_no_superuser_and_the_data_are_safe(stack: Stack) -> None:
    with psycopg.connect(stack.database_url) as connection:
        role = connection.execute("select rolsuper from pg_roles where rolname = current_user").fetchone()
        settings = connection.execute(
            "select current_setting('fsync'), current_setting('synchronous_commit')"
        ).fetchone()
    assert role == (False,)
    assert settings == ("on", "on")


def test_nobody_enters_the_database_without_the_password(stack: Stack) -> None:
    server, _, address = stack.database_url.partition("@")
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(f"postgres://gemweb:wrong@{address}")
    assert server.startswith("postgres://gemweb:")


def test_data_survive_a_restart_beside_another_stack_and_a_signal_ends_everything_within_five_seconds(
    stack: Stack, start: Start
) -> None:
    again = start()
    assert again.url != stack.url
    assert again.database_url != stack.database_url
    assert again.get("/")[0] == stack.get("/")[0] == 200
    with psycopg.connect(again.database_url) as connection:
        assert connection.execute("select word from kept").fetchone() == ("still here",)  # since `prepared`
    assert not any("preparing the database" in line for line in again.lines)
    end(again, signal.SIGTERM)
    assert stack.get("/")[0] == 200


def end(stack: Stack, number: int) -> None:
    """End a stack by a signal, once everything of it runs."""
    stack.wait_for("Log in as the administrator")
    everything = children(stack)
    stack.stop(number)
    assert stack.process.returncode == 0
    assert alive(everything) == []


def test_a_hang_up_stops_it_while_it_starts(start: Start, tmp_path: Path) -> None:
    stack = start(STATE_DIR=str(tmp_path))
    stack.wait_for("making a database")
    everything = children(stack)
    stack.stop(signal.SIGHUP)
    assert alive(everything) == []
    forget_state(tmp_path)


def test_named_servers_are_used(stack: Stack, start: Start, tmp_path: Path) -> None:
    other = start(STATE_DIR=str(tmp_path), DATABASE_URL=stack.database_url, VALKEY_URL=stack.valkey_url)
    assert other.get("/")[0] == 200
    assert not {"postgres", "valkey"} & set(other.pids())
