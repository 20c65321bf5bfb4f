"""Whatever cannot start says so in one sentence that tells what to do."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gemweb.local.errors import StackError
from gemweb.local.servers.postgres import Postgres
from gemweb.local.state import NEEDED_BYTES, StateFolder, require_space
from tests.services import ROOT, Stack, forget_state


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "state"
    forget_state(tmp_path / "state")


def refuse(state: Path, **env: str) -> str:
    """Start a stack that cannot start; returns its one sentence."""
    own = {"STATE_DIR": str(state), "PORT": "0", "BIND": "", "DATABASE_URL": "", "VALKEY_URL": ""}
    done = subprocess.run(
        [sys.executable, "-m", "gemweb.local"],
        cwd=ROOT,
        env={**os.environ, **own, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stdout + done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("gemweb: ")
    assert lines[0].endswith((".", "..."))
    return lines[0]


def test_a_port_in_use(state: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"Port {port} on 127.0.0.1 is in use" in refuse(state, PORT=str(port))


@pytest.mark.parametrize("port", ["eighty", "-1", "65536", "80 80"])
def test_a_port_that_is_none(state: Path, port: str) -> None:
    assert "PORT must be a number" in refuse(state, PORT=port)


def test_an_address_of_another_machine(state: Path) -> None:
    assert "BIND=192.0.2.1 is no address of this machine" in refuse(state, BIND="192.0.2.1")


def test_a_public_address_without_encryption(state: Path) -> None:
    assert "passwords would cross the network unencrypted" in refuse(state, BIND="0.0.0.0", HTTPS="", TLS_IN_FRONT="")


def test_a_file_where_the_state_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    assert "is in the way" in refuse(tmp_path / "state")


def test_a_state_folder_that_cannot_be_written() -> None:
    assert "choose another folder with STATE_DIR=" in refuse(Path("/proc/gemweb"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_state_folder_of_somebody_else(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "Cannot write to" in refuse(tmp_path / "state")


def test_a_state_folder_in_use(stack: Stack) -> None:
    sentence = refuse(stack.state_dir)
    assert f"in use by another running stack (process {stack.process.pid})" in sentence


def test_a_missing_postgres(state: Path) -> None:
    assert "No Postgres was found" in refuse(state, POSTGRES_BIN="/nowhere")


def test_a_postgres_that_is_not_there(state: Path) -> None:
    sentence = refuse(state, DATABASE_URL="postgres://a:b@127.0.0.1:9/c")
    assert "DATABASE_URL leads to no usable Postgres" in sentence


def test_a_valkey_that_is_not_there(state: Path) -> None:
    assert "VALKEY_URL leads to no usable Valkey or Redis" in refuse(state, VALKEY_URL="redis://127.0.0.1:9/0")


def test_the_data_of_another_postgres(tmp_path: Path) -> None:
    server = Postgres(tmp_path / "postgres", tmp_path / "password")
    server.data.mkdir(parents=True)
    (server.data / "PG_VERSION").write_text("12\n")
    (tmp_path / "password").write_text("secret")
    with pytest.raises(StackError, match="made by Postgres 12, but this is Postgres"):
        server.prepare()


def test_a_disk_that_is_almost_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=NEEDED_BYTES - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(StackError, match=r"The disk that holds .* is full"):
        require_space(tmp_path)


def test_a_database_whose_state_folder_was_deleted_is_kept_aside(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "data").mkdir(parents=True)
    (home / "data" / "PG_VERSION").write_text("12\n")
    tmp_path.chmod(0o711)
    server = Postgres(home, tmp_path / "password", durable=False)
    server._set_aside()
    assert (home / "data.old" / "PG_VERSION").exists()
    assert "kept aside" in server.notes[0]


def test_a_lock_is_released_at_the_end(tmp_path: Path) -> None:
    first = StateFolder(tmp_path / "state")
    first.open()
    first.close()
    StateFolder(tmp_path / "state").open()
