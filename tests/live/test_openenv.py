"""OpenEnv's own clients, from the package index and unmodified, play on a real server as the engine plays."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from bench.interop.wires import Script, script_of
from gem.check.elsewhere.servers import PROMISES, ServerExamination
from tests.installed import environment
from tests.live.processes import Fleet, Web
from tests.live.scripts import playable

PLAYER = Path(__file__).with_name("openenv_player.py")
GUESS = "game:GuessTheNumber-v0-easy"
CLIENTS = ["openenv-0.10", "openenv-core-0.2"]
PLAY_SECONDS = 900


@pytest.fixture
def web(fleet: Fleet) -> Web:
    """One web process."""
    return fleet.web()


def transcripts(client: str, web: Web, scripts: list[Script]) -> list[Any]:
    """What a client of OpenEnv reads while it plays these scripts."""
    python = environment(client) / "python"
    root = f"http://127.0.0.1:{web.port}/openenv/"
    played = subprocess.run(
        [str(python), str(PLAYER), root],
        input=json.dumps(scripts),
        capture_output=True,
        text=True,
        timeout=PLAY_SECONDS,
        check=True,
    )
    return list(json.loads(played.stdout))


def test_messages_may_be_long_and_pages_of_others_are_told_nothing(web: Web) -> None:
    url = f"ws://127.0.0.1:{web.port}/openenv/{GUESS}/ws"
    with connect(url, additional_headers={"Origin": "https://elsewhere.example"}) as socket:
        socket.send('{"type": "reset", "data": {"seed": 7}}')
        assert json.loads(socket.recv())["data"]["observation"]["seed"] == 7
        socket.send(json.dumps({"type": "step", "data": {"message": "x" * 60_000}}))
        assert json.loads(socket.recv())["data"]["done"]
        socket.send("x" * 300_000)
        with pytest.raises(ConnectionClosed):
            socket.recv()
    with pytest.raises(InvalidStatus) as refused:
        connect(f"ws://127.0.0.1:{web.port}/openenv/game:Nothing-v0/ws")
    assert refused.value.response.status_code == 404


@pytest.mark.long
@pytest.mark.parametrize("client", CLIENTS)
def test_a_stock_client_plays_every_fast_environment_as_the_engine_does(client: str, web: Web) -> None:
    planned = [script_of(spec.id, seed=number) for number, spec in enumerate(playable("fast"))]
    assert len(planned) > 50
    played = transcripts(client, web, [script for script, _ in planned])
    for (script, expected), seen in zip(planned, played, strict=True):
        assert seen == expected, script[0]


@pytest.mark.long
@pytest.mark.parametrize("client", CLIENTS)
def test_a_stock_client_plays_slow_environments_with_workers(client: str, web: Web, fleet: Fleet) -> None:
    fleet.host()
    specs = [spec for spec in playable("slow") if not spec.unavailable_reason()]
    planned = [script_of(spec.id, seed=number) for number, spec in enumerate(specs)]
    assert len(planned) > 20
    played = transcripts(client, web, [script for script, _ in planned])
    for (script, expected), seen in zip(planned, played, strict=True):
        assert seen == expected, script[0]


@pytest.mark.long
def test_openenvs_own_validation_passes(web: Web) -> None:
    openenv = environment("openenv-0.10") / "openenv"
    for spec in list(playable("fast"))[::40]:
        url = f"http://127.0.0.1:{web.port}/openenv/{spec.id}"
        validated = subprocess.run(
            [str(openenv), "validate", "--url", url], capture_output=True, text=True, check=False
        )
        assert validated.returncode == 0, validated.stdout


def test_the_check_of_servers_finds_nothing_wrong_with_ours(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEM_OPENENV_ADDRESSES", raising=False)
    findings = list(ServerExamination(f"http://127.0.0.1:{web.port}/openenv/{GUESS}").findings())
    assert [finding.key for finding in findings if finding.status != "ok"] == []
    assert len(findings) == len(PROMISES)
