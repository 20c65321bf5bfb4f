"""Sessions over WebSockets: what they play, and what they answer to messages that are none."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from pytest_django.fixtures import Settings

import gem
from apps.accounts.models import User
from apps.api import operations as tokens
from apps.api.models import Scope
from apps.openenv import sessions
from apps.openenv.slots import Slots
from tests.apps.openenv.harness import GUESS, Socket, connected, request

pytestmark = pytest.mark.django_db(transaction=True)

HOSTILE: list[tuple[str, str]] = [
    ("", "INVALID_JSON"),
    ("{", "INVALID_JSON"),
    ("[" * 100_000, "INVALID_JSON"),
    ("null", "VALIDATION_ERROR"),
    ("[]", "VALIDATION_ERROR"),
    ('"reset"', "VALIDATION_ERROR"),
    ("{}", "UNKNOWN_TYPE"),
    ('{"type": null}', "UNKNOWN_TYPE"),
    ('{"type": {}}', "UNKNOWN_TYPE"),
    ('{"type": "destroy"}', "UNKNOWN_TYPE"),
    ('{"type": "reset", "data": []}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"seed": -1}}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"seed": true}}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"seed": 1.5}}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"seed": "7"}}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"seed": 9223372036854775808}}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"episode_id": 5}}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"episode_id": "' + "x" * 256 + '"}}', "VALIDATION_ERROR"),
    ('{"type": "reset", "data": {"record": "no"}}', "VALIDATION_ERROR"),
    ('{"type": "step"}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"message": 5}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"message": null}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"action": {"message": "nested"}}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"message": "' + "x" * 70_000 + '"}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"type": "call_tool"}}', "VALIDATION_ERROR"),
    ('{"type": "step", "data": {"type": "call_tool", "tool_name": "sh", "arguments": {}}}', "VALIDATION_ERROR"),
]


def transcript(env_id: str, seed: int, actions: list[str]) -> list[Any]:
    """What the engine says to these actions."""
    env = gem.make(env_id)
    turns: list[Any] = [env.reset(seed=seed)[1]["suffix"]]
    for action in actions:
        _, reward, terminated, truncated, info = env.step(action)
        turns.append([reward, terminated, truncated, info["suffix"]])
    return turns


async def test_the_same_seed_gives_the_same_episode_as_in_the_engine() -> None:
    actions = ["\\boxed{5}", "\\boxed{2}", "\\boxed{2}", "\\boxed{11}"]
    async with connected() as socket:
        for seed in (7, 8, 7):
            first = await socket.ask("reset", {"seed": seed})
            played = [first["data"]["observation"]["info"]["suffix"]]
            assert first["data"]["observation"]["seed"] == seed
            assert (first["data"]["reward"], first["data"]["done"]) == (None, False)
            expected = transcript(GUESS, seed, actions)
            for action, turn in zip(actions, expected[1:], strict=True):
                data = (await socket.ask("step", {"message": action}))["data"]
                seen = data["observation"]
                played.append([data["reward"], seen["terminated"], seen["truncated"], seen["info"]["suffix"]])
                assert data["done"] == (turn[1] or turn[2])
            assert played == expected


async def test_sessions_are_isolated_and_states_are_those_of_the_own_episode() -> None:
    async with connected() as one, connected() as other:
        assert (await one.ask("state"))["data"]["episode_id"] is None
        for seed, socket in enumerate((one, other)):
            await socket.ask("reset", {"seed": seed, "episode_id": f"episode {seed}"})
        await one.ask("step", {"message": "\\boxed{5}"})
        states = [(await socket.ask("state"))["data"] for socket in (one, other)]
        assert [state["step_count"] for state in states] == [1, 0]
        assert [state["episode_id"] for state in states] == ["episode 0", "episode 1"]
        assert [state["seed"] for state in states] == [0, 1]


async def test_a_step_needs_an_episode_that_goes_on() -> None:
    async with connected() as socket:
        before = await socket.ask("step", {"message": "\\boxed{5}"})
        assert before["data"]["code"] == "EXECUTION_ERROR"
        assert "reset" in before["data"]["message"]
        await socket.ask("reset")
        assert (await socket.ask("step", {"message": "no number"}))["data"]["done"]
        assert (await socket.ask("step", {"message": "no number"}))["data"]["code"] == "EXECUTION_ERROR"
        assert (await socket.ask("reset"))["type"] == "observation"


async def test_each_hostile_message_has_one_error_and_the_session_goes_on(counted: Any) -> None:
    async with connected() as socket:
        await socket.ask("reset", {"seed": 7})
        for text, code in HOSTILE:
            await socket.send(text)
            reply = json.loads((await socket.message())["text"])
            assert (reply["type"], reply["data"]["code"]) == ("error", code), text[:80]
            assert len(reply["data"]["message"]) < 1000
        await socket.send(None, b"\xff")
        assert json.loads((await socket.message())["text"])["data"]["code"] == "VALIDATION_ERROR"
        assert not socket.has_unread
        assert (await socket.ask("state"))["data"]["step_count"] == 0
        assert (await socket.ask("step", {"message": "\\boxed{5}\ud800\0"}))["type"] == "observation"
    counted("hostile messages of OpenEnv", len(HOSTILE) + 1)


async def test_half_a_surrogate_pair_comes_back_as_it_was_sent() -> None:
    half = "a\ud800"
    rpc = {"jsonrpc": "2.0", "id": half, "method": "none"}
    async with connected() as socket:
        for kind, data in (("reset", {"seed": 7, "episode_id": half}), ("state", None), ("mcp", rpc)):
            await socket.send(json.dumps({"type": kind, "data": data}))
            assert half in _read(await socket.message())
    bare = Socket(f"/openenv/{GUESS}/mcp")
    await bare.open()
    await bare.send(json.dumps(rpc))
    assert half in _read(await bare.message())
    await bare.leave()


def _read(message: dict[str, Any]) -> list[Any]:
    """All that stands in a reply, which has to be a text that can be sent."""
    values, found = [json.loads(message["text"].encode())], []
    while values:
        value = values.pop()
        values += value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
        found.append(value)
    return found


async def test_several_seats_are_played_by_one_client() -> None:
    async with connected("duel:TicTacToe-v0") as socket:
        seen = (await socket.ask("reset", {"seed": 1}))["data"]["observation"]
        order = []
        for cell in (1, 4, 2, 5, 3):
            order.append(seen["current_player_id"])
            data = (await socket.ask("step", {"message": f"\\boxed{{{cell}}}"}))["data"]
            seen = data["observation"]
        assert order == [0, 1, 0, 1, 0]
        assert (data["reward"], data["done"], seen["success"]) == (1.0, True, True)


async def test_tools_play_too() -> None:
    async with connected() as socket:
        listed = (await socket.ask("mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))["data"]["result"]
        assert [tool["name"] for tool in listed["tools"]] == ["begin_episode", "take_turn"]
        stepped = (await socket.ask("step", {"type": "list_tools"}))["data"]["observation"]["tools"]
        assert stepped == listed["tools"]
        for name, arguments in (("begin_episode", {"seed": 7}), ("take_turn", {"message": "\\boxed{5}"})):
            params = {"name": name, "arguments": arguments}
            answer = await socket.ask("mcp", {"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params})
            result = answer["data"]["result"]
            assert answer["data"]["id"] == "a"
            assert not result["isError"]
            assert result["content"][0]["text"]
        assert (await socket.ask("state"))["data"]["step_count"] == 1
        for message, code in (
            ({}, -32600),
            ({"jsonrpc": "2.0", "method": "initialize"}, -32601),
            ({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "rm"}}, -32602),
            ({"jsonrpc": "2.0", "method": "tools/call", "params": []}, -32602),
        ):
            assert (await socket.ask("mcp", message))["data"]["error"]["code"] == code


async def test_a_slot_is_waited_for_and_never_leaks(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    slots = Slots(1)
    monkeypatch.setattr(sessions, "slots", slots)
    settings.OPENENV_WAIT_SECONDS = 0.01
    async with connected() as first:
        await first.ask("reset")
        second = Socket(f"/openenv/{GUESS}/ws")
        await second.open()
        reply = await second.ask("reset")
        assert reply["data"]["code"] == "CAPACITY_REACHED"
        assert (await second.message())["type"] == "websocket.close"
        await second.task
        settings.OPENENV_WAIT_SECONDS = 30
        third = Socket(f"/openenv/{GUESS}/ws")
        await third.open()
        await third.send('{"type": "reset"}')
        while not slots.waiting:
            await asyncio.sleep(0)
    assert json.loads((await third.message())["text"])["type"] == "observation"
    await third.leave()
    assert (slots.held, slots.waiting) == (0, 0)


async def test_an_idle_session_ends_and_gives_its_slot_back(settings: Settings) -> None:
    settings.OPENENV_IDLE_SECONDS = 0.05
    held = sessions.slots.held
    socket = Socket(f"/openenv/{GUESS}/ws")
    await socket.open()
    await socket.ask("reset")
    assert sessions.slots.held == held + 1
    closed = await socket.message()
    assert (closed["type"], closed["code"]) == ("websocket.close", 1001)
    await socket.task
    assert sessions.slots.held == held


async def test_an_environment_that_fails_ends_its_episode_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected() as socket, connected() as other:
        await socket.ask("reset")
        await other.ask("reset")
        env_class = type(gem.make(GUESS))
        with monkeypatch.context() as broken:
            broken.setattr(env_class, "step", lambda *_: 1 / 0)
            reply = await socket.ask("step", {"message": "\\boxed{5}"})
        assert reply["data"]["code"] == "EXECUTION_ERROR"
        assert "division" not in reply["data"]["message"]
        assert (await socket.ask("state"))["data"]["done"]
        assert (await other.ask("step", {"message": "\\boxed{5}"}))["type"] == "observation"
        assert (await socket.ask("reset"))["type"] == "observation"


async def test_who_may_play() -> None:
    from channels.db import database_sync_to_async as sync_to_async

    def make(scopes: list[str]) -> str:
        person, _ = User.objects.get_or_create(username="ada")
        return tokens.make_token(person, "trainer", scopes)[1]

    playing, reading = await sync_to_async(make)([Scope.PLAY]), await sync_to_async(make)([Scope.READ])
    for path, token, status in (
        (f"/openenv/{GUESS}/ws", "gw_wrong", 401),
        (f"/openenv/gw_wrong/{GUESS}/ws", "", 401),
        (f"/openenv/{GUESS}/ws", reading, 403),
        ("/openenv/game:Nothing-v0/ws", "", 404),
        (f"/openenv/{GUESS}/live", "", 404),
        ("/openenv/", "", 404),
    ):
        socket = Socket(path, token)
        answer = await socket.open()
        assert (answer["type"], answer["status"]) == ("websocket.http.response.start", status), path
        assert "detail" in json.loads((await socket.message())["body"])
        await socket.task
    async with connected(token=playing) as socket:
        assert (await socket.ask("reset"))["type"] == "observation"
    by_path = Socket(f"/openenv/{playing}/{GUESS}/ws")
    assert (await by_path.open())["type"] == "websocket.accept"
    await by_path.leave()
    assert (await request("GET", f"/openenv/{reading}/{GUESS}/health"))[0] == 403
