"""What commands say to somebody who is not logged in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.cli.conftest import Run
from tests.engine.client.faulty_server import faulty_server, problem

LOGIN = "gemweb login saves a token"


@pytest.fixture(autouse=True)
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has logged in."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("GEMWEB_URL", "GEMWEB_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("command", ["jobs", "jobs --json", "curves", "curves --json"])
def test_nothing_is_listed_as_theirs(run: Run, command: str) -> None:
    code, out, err = run(*command.split(), "--url", "http://127.0.0.1:1")
    assert (code, out) == (2, "")
    assert f"You are not logged in to http://127.0.0.1:1. {LOGIN} for the commands." in err


def test_the_list_of_everybody_needs_no_login(run: Run) -> None:
    assert "--all lists the jobs of everybody" in run("jobs").err
    with faulty_server(problem(503, "The site is starting.")) as server:
        assert LOGIN not in run("jobs", "--all", "--url", server.url).err


def test_what_is_not_found_may_be_private(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with faulty_server(problem(404, "There is no job 0123456789ab.")) as server:
        assert LOGIN in run("jobs", "0123456789ab", "--url", server.url).err
        monkeypatch.setenv("GEMWEB_TOKEN", "gw_token")
        assert LOGIN not in run("jobs", "0123456789ab", "--url", server.url).err


@pytest.mark.parametrize("command", ["whoami", "webhooks", "jobs pause 0123456789ab"])
def test_what_needs_an_account_says_how_to_get_a_token(run: Run, command: str) -> None:
    with faulty_server(problem(401, "This needs an account.")) as server:
        assert LOGIN in run(*command.split(), "--url", server.url).err
