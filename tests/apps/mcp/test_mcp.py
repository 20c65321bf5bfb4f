"""The MCP server in this process, asked by the client of the `mcp` package: what its tools do, and for whom."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from channels.db import database_sync_to_async as sync_to_async
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

import gem
from apps.accounts.models import User
from apps.api import operations as tokens
from apps.api.models import Scope
from apps.episodes.models import Episode
from apps.jobs.models import Job
from apps.mcp import playing
from apps.mcp.application import Mcp
from apps.visibility import Visibility
from gem.wrappers.observation_wrapper import as_message
from gemweb.handler import SiteHandler
from tests.apps.openenv.test_queued import work

pytestmark = pytest.mark.django_db(transaction=True)

GUESS = "game:GuessTheNumber-v0-easy"
URL = "http://testserver/mcp"


@pytest.fixture
async def site(transactional_db: None) -> AsyncIterator[Mcp]:
    """The address of the server, with the API behind it."""
    await sync_to_async(_add_agents)()
    application = Mcp(SiteHandler())
    yield application
    if application.server is not None:
        await application.server.stop()


def _add_agents() -> None:
    from apps.agents.models import Agent

    for colour, kind in enumerate(("human", "random", "expert"), 2):
        Agent.objects.get_or_create(slug=kind, defaults={"name": kind, "kind": kind, "colour": colour})


async def token_of(name: str, *scopes: str) -> str:
    """A token of a person with these scopes."""

    def make() -> str:
        person, _ = User.objects.get_or_create(username=name)
        return tokens.make_token(person, "program", list(scopes))[1]

    return await sync_to_async(make)()


class Caller:
    """A session of the client."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session

    async def call(self, name: str, **arguments: Any) -> Any:
        """The structured content of a result."""
        result = await self.session.call_tool(name, arguments)
        assert not result.is_error, result.content
        return result.structured_content

    async def refused(self, name: str, **arguments: Any) -> str:
        """What a refusal says."""
        result = await self.session.call_tool(name, arguments)
        assert result.is_error, result
        return str(result.content[0].text)  # type: ignore[union-attr]


@asynccontextmanager
async def connected(site: Mcp, token: str = "") -> AsyncIterator[Caller]:
    """A session with the server."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    transport = httpx2.ASGITransport(site)
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers, timeout=60) as http,
        streamable_http_client(URL, http_client=http) as streams,
        ClientSession(*streams[:2]) as session,
    ):
        await session.initialize()
        yield Caller(session)


async def test_an_episode_is_that_of_the_engine_and_is_recorded(site: Mcp) -> None:
    env = gem.make(GUESS)
    text, info = env.reset(seed=7)
    async with connected(site, await token_of("ada", Scope.PLAY, Scope.READ)) as ada:
        read = await ada.call("reset", env_id=GUESS, seed=7, visibility="private")
        assert (read["text"], read["seed"], read["reward"], read["done"]) == (as_message(text, info), 7, None, False)
        for action in ("\\boxed{5}", "\\boxed{2}", "nothing"):
            text, reward, terminated, truncated, info = env.step(action)
            read = await ada.call("step", episode_id=read["episode_id"], action=action)
            assert (read["text"], read["reward"]) == (as_message(text, info), reward)
            assert read["done"] == (terminated or truncated)
            assert read["your_turn"] != read["done"]
        assert (await ada.call("state", episode_id=read["episode_id"]))["turn"] == 3
    episode = await Episode.objects.aget(pk=read["episode_id"])
    assert (episode.turn_count, episode.visibility, episode.seed) == (3, Visibility.PRIVATE, 7)
    async with connected(site, await token_of("bob", Scope.PLAY)) as bob:
        assert "may be mistyped" in await bob.refused("state", episode_id=read["episode_id"])
        assert await bob.refused("step", episode_id=read["episode_id"], action="\\boxed{1}")


async def test_secrets_stay_secret_and_a_turn_of_others_is_not_taken(
    site: Mcp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playing, "WAIT_SECONDS", 0.0)
    async with connected(site, await token_of("ada", Scope.PLAY)) as ada:
        result = await ada.session.call_tool(
            "reset", {"env_id": "duel:KuhnPoker-v0", "opponent": "expert", "seat": 1, "seed": 3}
        )
        read = result.structured_content
        assert (read["your_turn"], read["seed"], "seats" in read["info"]) == (False, None, False)
        assert "not your turn yet" in result.content[1].text  # type: ignore[union-attr]
        assert await ada.refused("step", episode_id=read["episode_id"], action="\\boxed{check}")


async def test_a_seed_is_a_whole_number(site: Mcp) -> None:
    async with connected(site, await token_of("ada", Scope.PLAY)) as ada:
        for seed in ("7", True, 7.5):
            refusal = await ada.refused("reset", env_id=GUESS, seed=seed)
            assert f"seed has to be a whole number, not {seed!r}." in refusal
    assert not await Episode.objects.aexists()


async def test_a_slow_environment_is_waited_for_and_a_wait_ends(site: Mcp, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(site, await token_of("ada", Scope.PLAY)) as ada:
        read = await ada.call("reset", env_id="math:GSM8K", seed=5)
        asked = asyncio.create_task(ada.call("step", episode_id=read["episode_id"], action="\\boxed{1}"))
        await work()
        assert (await asked)["done"]
        monkeypatch.setattr(playing, "WAIT_SECONDS", 0.0)
        read = await ada.call("reset", env_id="math:GSM8K", seed=5)
        waits = await ada.call("step", episode_id=read["episode_id"], action="\\boxed{1}")
        assert (waits["done"], waits["your_turn"], waits["reward"]) == (False, False, None)
        assert (await ada.call("abandon", episode_id=read["episode_id"]))["done"]


async def test_whoever_has_no_token_reads_what_is_public(site: Mcp) -> None:
    async with connected(site) as guest:
        listed = await guest.session.list_tools()
        assert {"list_environments", "reset", "step", "state", "submit_job", "leaderboard"} <= {
            tool.name for tool in listed.tools
        }
        assert all(tool.description and tool.output_schema for tool in listed.tools)
        found = await guest.call("list_environments", search="sokoban", limit=2)
        assert found["environments"][0]["id"].startswith("game:Sokoban")
        assert (await guest.call("leaderboard", benchmark="games-easy"))["benchmark"] == "games-easy"
        assert {row["slug"] for row in (await guest.call("list_agents"))["agents"]} >= {"random", "expert"}
        assert "needs an account" in await guest.refused("reset", env_id=GUESS)
        assert "needs an account" in await guest.refused("submit_job", agent="random", env_ids=[GUESS])


async def test_a_job_is_submitted_and_a_scope_is_needed(site: Mcp) -> None:
    async with connected(site, await token_of("ada", Scope.PLAY)) as player:
        assert "no scope submit" in await player.refused("submit_job", agent="random", env_ids=[GUESS])
    async with connected(site, await token_of("ada", Scope.SUBMIT)) as ada:
        wrong = await ada.refused("submit_job", agent="random", env_ids=["game:Nothing-v0"])
        assert "game:Nothing-v0" in wrong
        job = await ada.call(
            "submit_job", agent="random", env_ids=[GUESS], episodes_per_env=3, job_name="by a tool", more={"seed": 4}
        )
        assert (job["state"], job["episodes_total"], job["success_rate"]) == ("queued", 3, None)
        assert (await ada.call("job", job_id=job["job_id"]))["job_id"] == job["job_id"]
    row = await Job.objects.aget()
    assert (row.name, row.spec["seed"], row.spec["episodes_per_env"]) == ("by a tool", 4, 3)


async def test_what_is_not_understood_is_said_and_changes_nothing(site: Mcp, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(site, await token_of("ada", Scope.PLAY)) as ada:
        assert "seed" in await ada.refused("reset", env_id=GUESS, seed=-1)
        assert "speed" in await ada.refused("reset", env_id=GUESS, speed=9)
        assert "env_id" in await ada.refused("reset")
        assert "game:Nothing-v0" in await ada.refused("reset", env_id="game:Nothing-v0")
        for episode_id in ("../jobs", "a\0b", "0" * 40, "?seat=1"):
            assert await ada.refused("step", episode_id=episode_id, action="x")
        monkeypatch.setattr(playing.Reset, "run", lambda *_: 1 / 0)
        assert "division" not in await ada.refused("reset", env_id=GUESS)
    assert not await Episode.objects.aexists()


async def test_what_is_no_message_of_a_client_is_refused(site: Mcp) -> None:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(site)) as http:
        opened = await http.get(URL)
        assert (opened.status_code, opened.headers["allow"]) == (405, "POST")
        unknown = await http.post(URL, json={}, headers={"Authorization": "Bearer gw_wrong"})
        assert (unknown.status_code, unknown.headers["www-authenticate"]) == (401, "Bearer")
        assert (await http.post("http://elsewhere.example/mcp", json={})).status_code == 400
        accepted = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        for body in (b"", b"{", b"[]", b'{"jsonrpc": "2.0"}', b"\xff", json.dumps({"x": "y" * 300_000}).encode()):
            answer = await http.post(URL, content=body, headers=accepted)
            assert 400 <= answer.status_code < 500, body[:20]
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "nothing", "arguments": {}}}
        answer = await http.post(URL, json=message, headers=accepted)
        assert "There is no tool 'nothing'" in answer.json()["error"]["message"]
