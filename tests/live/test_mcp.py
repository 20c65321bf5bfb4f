"""Stock clients of MCP, from the package index and unmodified, play on a real server as the engine plays."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bench.interop.wires import Script, script_of
from tests.installed import environment
from tests.live.processes import Fleet, Web
from tests.live.scripts import FEW, playable

PLAYER = Path(__file__).with_name("mcp_player.py")
CLIENTS = {"mcp 1": ("mcp-calculator", []), "FastMCP": ("fastmcp", ["--fastmcp"])}
"""Where each client is installed, and how the player is told. That of `mcp` 2 is in `tests/apps/mcp`."""
PLAY_SECONDS = 900


@pytest.fixture
def web(fleet: Fleet) -> Web:
    """One web process."""
    return fleet.web()


@pytest.fixture
def token(transactional_db: None) -> str:
    """A token of somebody who may play."""
    from apps.accounts.models import User
    from apps.api import operations as tokens
    from apps.api.models import Scope

    return tokens.make_token(User.objects.create_user("ada"), "program", [Scope.PLAY])[1]


def transcripts(client: str, web: Web, token: str, scripts: list[Script]) -> list[Any]:
    """What a client reads while it plays these scripts."""
    place, options = CLIENTS[client]
    played = subprocess.run(
        [str(environment(place) / "python"), str(PLAYER), f"http://127.0.0.1:{web.port}/mcp", token, *options],
        input=json.dumps(scripts),
        capture_output=True,
        text=True,
        timeout=PLAY_SECONDS,
        check=False,
    )
    assert played.returncode == 0, played.stderr
    tools, *read = json.loads(played.stdout)
    assert {"list_environments", "reset", "step", "state", "submit_job", "leaderboard"} <= set(tools)
    return list(read)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_stock_client_plays_whole_episodes_as_the_engine_does(client: str, web: Web, token: str) -> None:
    planned = [script_of(env_id, seed) for env_id, seed in FEW.items()]
    for (script, expected), seen in zip(
        planned, transcripts(client, web, token, [script for script, _ in planned]), strict=True
    ):
        assert seen == expected, script[0]


@pytest.mark.long
@pytest.mark.parametrize("cost", ["fast", "slow"])
def test_a_stock_client_plays_every_environment(cost: str, web: Web, token: str, fleet: Fleet) -> None:
    fleet.host()
    specs = [spec for spec in playable(cost) if not spec.unavailable_reason()]
    planned = [script_of(spec.id, seed=number) for number, spec in enumerate(specs)]
    assert len(planned) > 20
    for (script, expected), seen in zip(
        planned, transcripts("FastMCP", web, token, [script for script, _ in planned]), strict=True
    ):
        assert seen == expected, script[0]
