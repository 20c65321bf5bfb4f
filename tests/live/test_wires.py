"""The same seeded episodes over five wires: engine, REST, OpenEnv, MCP and chat completions read the same."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench.interop.wires import (
    Script,
    Transcript,
    as_transcript,
    over_mcp,
    over_openenv,
    over_rest,
    script_of,
)
from gem.client import Client
from tests.installed import environment
from tests.live.processes import Fleet
from tests.live.scripts import FEW, playable

if TYPE_CHECKING:
    from apps.agents.models import Agent

PLAYER = Path(__file__).with_name("chat_player.py")
PLAY_SECONDS = 280
PARTS = 8


@pytest.fixture
def token(agents: dict[str, Agent]) -> str:
    """A token that may play and add agents."""
    from apps.accounts.models import User
    from apps.api import operations as tokens

    return tokens.make_token(User.objects.create_user("ada"), "program", ["play", "manage"])[1]


def over_chats_of_openai(url: str, token: str, scripts: Sequence[Script]) -> list[Transcript]:
    """What OpenAI's own client reads, several episodes at a time, with and without streams and history."""
    with Client(url, token) as client:
        program = client.remotes.add("program")
        begun = [client.remotes.begin_chat(program.slug, env_id, seed=seed) for env_id, seed, _ in scripts]
        orders = [[chat.base_url, chat.key, actions] for chat, (_, _, actions) in zip(begun, scripts, strict=True)]
        command = [str(environment("openai") / "python"), str(PLAYER)]
        played = subprocess.run(
            command, input=json.dumps(orders), capture_output=True, text=True, timeout=PLAY_SECONDS, check=True
        )
        found = []
        for chat, replies in zip(begun, json.loads(played.stdout), strict=True):
            assert not isinstance(replies, str), replies
            found.append(as_transcript(client, chat.episode.id, replies))
            first = client.episodes.turn(chat.episode.id, 1)
            assert first.extra is not None
            assert [message["content"] for message in first.extra["messages"]][:2] == ["You play.", "Begin."]
    return found


def compare(url: str, token: str, planned: Sequence[tuple[Script, Transcript]]) -> None:
    """Play every script over all wires."""
    for script, expected in planned:
        for wire in (over_rest, over_openenv, over_mcp):
            assert wire(url, token, script) == expected, (wire.__name__, script[0])
    chats = over_chats_of_openai(url, token, [script for script, _ in planned])
    for (script, expected), read in zip(planned, chats, strict=True):
        assert read == expected, ("chat completions", script[0])


def test_some_episodes_read_the_same_over_five_wires(fleet: Fleet, token: str) -> None:
    web, _ = fleet.web(), fleet.host()
    compare(f"http://127.0.0.1:{web.port}", token, [script_of(env_id, seed) for env_id, seed in FEW.items()])


@pytest.mark.long
@pytest.mark.parametrize("cost", ["fast", "slow"])
@pytest.mark.parametrize("part", range(PARTS))
def test_every_environment_that_replays_reads_the_same(cost: str, part: int, fleet: Fleet, token: str) -> None:
    web, _ = fleet.web(SHOWS_PER_PERSON="1000", STARTS_PER_MINUTE="100000"), fleet.host(SHOWS_PER_PERSON="1000")
    specs = [spec for spec in playable(cost) if not spec.unavailable_reason()][part::PARTS]
    assert specs
    compare(f"http://127.0.0.1:{web.port}", token, [script_of(spec.id, seed) for seed, spec in enumerate(specs)])
