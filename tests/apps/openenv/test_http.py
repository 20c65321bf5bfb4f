"""Sessions over HTTP, and what a server says of its environment."""

from __future__ import annotations

import asyncio

import pytest
from pytest_django.fixtures import Settings

import gem
from apps.openenv import sessions
from apps.openenv.access import Caller
from apps.openenv.hosts import Host, open_host
from apps.openenv.http import sessions as kept
from apps.openenv.local import LocalHost
from apps.openenv.slots import Slots
from tests.apps.openenv.harness import GUESS, application, request

pytestmark = pytest.mark.django_db(transaction=True)

BASE = f"/openenv/{GUESS}"


async def test_an_episode_goes_on_by_its_id_and_ends_with_its_slot() -> None:
    held = sessions.slots.held
    status, first = await request("POST", f"{BASE}/reset", {"seed": 7, "episode_id": "mine"})
    key = first["observation"]["episode_id"]
    assert (status, key.startswith("mine."), sessions.slots.held) == (200, True, held + 1)
    step = {"action": {"message": "\\boxed{5}"}, "episode_id": key}
    assert (await request("POST", f"{BASE}/step", step))[1]["done"] is False
    assert (await request("GET", f"{BASE}/state?episode_id={key}"))[1]["step_count"] == 1
    other = f"/openenv/game:Sokoban-v0/state?episode_id={key}"
    assert (await request("GET", other))[0] == 409
    assert (await request("POST", f"{BASE}/step", step | {"action": {"message": "end"}}))[1]["done"] is True
    assert (await request("POST", f"{BASE}/step", step))[0] == 409
    assert (sessions.slots.held, len(kept)) == (held, 0)


async def test_what_a_server_says_of_its_environment() -> None:
    assert (await request("GET", f"{BASE}/health")) == (200, {"status": "healthy"})
    metadata = (await request("GET", f"{BASE}/metadata"))[1]
    assert metadata["name"] == GUESS
    assert metadata["description"]
    schema = (await request("GET", f"{BASE}/schema"))[1]
    assert schema["action"]["required"] == ["message"]
    assert schema["action"]["title"] not in {"Action", "CallToolAction", "ListToolsAction"}
    described = (await request("GET", f"{BASE}/openapi.json"))[1]
    assert {"/reset", "/step", "/state"} <= described["paths"].keys()
    assert described["info"]["version"].startswith("1.")
    assert (await request("GET", f"{BASE}/state"))[1]["step_count"] == 0
    assert (await request("GET", f"{BASE}/list_environments"))[1] == [GUESS]
    listed = (await request("GET", "/openenv/"))[1]["environments"]
    assert listed == [spec.id for spec in gem.registry.specs()]


async def test_tools_over_http_have_sessions() -> None:
    created = await request("POST", f"{BASE}/mcp", {"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create"})
    key = created[1]["result"]["session_id"]
    for name, arguments in (("begin_episode", {"seed": 7}), ("take_turn", {"message": "\\boxed{5}"})):
        params = {"name": name, "arguments": arguments, "session_id": key}
        called = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
        assert not (await request("POST", f"{BASE}/mcp", called))[1]["result"]["isError"]
    closing = {"jsonrpc": "2.0", "id": 3, "method": "openenv/session/close", "params": {"session_id": key}}
    assert (await request("POST", f"{BASE}/mcp", closing))[1]["result"]["closed"]
    assert (await request("POST", f"{BASE}/mcp", closing))[1]["error"]["code"] == -32602
    assert (await request("POST", f"{BASE}/mcp", {}))[1]["error"]["code"] == -32600
    assert len(kept) == 0


@pytest.mark.parametrize("waits_for", ["a slot", "the environment"])
async def test_a_session_that_is_closed_while_it_opens_holds_nothing(
    waits_for: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slots, go_on = Slots(1), asyncio.Event()
    hosts: list[Host] = []
    closed: list[Host] = []
    close = LocalHost.close

    async def note_and_close(host: LocalHost) -> None:
        closed.append(host)
        await close(host)

    monkeypatch.setattr(LocalHost, "close", note_and_close)
    monkeypatch.setattr(sessions, "slots", slots)

    async def open_late(env_id: str, caller: Caller) -> Host:
        await go_on.wait()
        hosts.append(await open_host(env_id, caller))
        return hosts[-1]

    monkeypatch.setattr(sessions, "open_host", open_late)
    other = await slots.take("another person", 1, 1) if waits_for == "a slot" else None
    creating = {"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create"}
    key = (await request("POST", f"{BASE}/mcp", creating))[1]["result"]["session_id"]
    params = {"name": "begin_episode", "arguments": {"seed": 7}, "session_id": key}
    begins = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    beginning = asyncio.create_task(request("POST", f"{BASE}/mcp", begins))
    while not (slots.waiting if other else slots.held):
        await asyncio.sleep(0)
    closing = {"jsonrpc": "2.0", "id": 3, "method": "openenv/session/close", "params": {"session_id": key}}
    assert (await request("POST", f"{BASE}/mcp", closing))[1]["result"]["closed"]
    if other:
        other.release()
    go_on.set()
    async with asyncio.timeout(20):
        assert "The session was closed" in str((await beginning)[1])
    assert (slots.held, slots.waiting) == (0, 0)
    assert len(hosts) == (not other)
    assert closed == hosts


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/openenv/game:Nothing-v0/health", None, 404),
        ("GET", f"{BASE}/nothing", None, 404),
        ("GET", f"{BASE}/reset", None, 405),
        ("DELETE", f"{BASE}/step", None, 405),
        ("POST", f"{BASE}/health", None, 404),
        ("POST", f"{BASE}/reset", b"{", 400),
        ("POST", f"{BASE}/reset", b"[" * 100_000, 400),
        ("POST", f"{BASE}/reset", b"\xff", 400),
        ("POST", f"{BASE}/reset", [], 422),
        ("POST", f"{BASE}/reset", {"seed": "x"}, 422),
        ("POST", f"{BASE}/step", {}, 422),
        ("POST", f"{BASE}/step", {"action": []}, 422),
        ("POST", f"{BASE}/step", {"action": {"message": "x"}}, 409),
        ("POST", f"{BASE}/step", {"action": {"message": "x"}, "episode_id": {}}, 409),
        ("POST", f"{BASE}/reset", b" " * 300_000, 413),
        ("GET", f"{BASE}/state?episode_id=%00%ff", None, 409),
    ],
)
async def test_what_cannot_be_answered_is_refused_in_a_sentence(
    method: str, path: str, body: object, status: int
) -> None:
    answered, value = await request(method, path, body)
    assert answered == status
    assert value["detail"].endswith(".")


async def test_idle_sessions_end_by_themselves(settings: Settings) -> None:
    import asyncio

    settings.OPENENV_IDLE_SECONDS = 0.02
    held = sessions.slots.held
    await request("POST", f"{BASE}/reset")
    while len(kept) or sessions.slots.held > held:
        await asyncio.sleep(0.01)


async def test_another_host_is_refused(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["elsewhere.example"]
    assert (await request("GET", f"{BASE}/health"))[0] == 400
    assert application is not None


async def test_nobody_makes_more_sessions_than_they_may_have(settings: Settings) -> None:
    settings.OPENENV_SESSIONS_PER_ADDRESS = 2
    make = {"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create"}
    made = [await request("POST", f"{BASE}/mcp", make) for _ in range(3)]
    assert [status for status, _ in made] == [200, 200, 503]
    assert made[2][1]["code"] == "CAPACITY_REACHED"
    assert len(kept) == 2, "those that are never opened take memory for as long as they are kept"
    for _, answer in made[:2]:
        await kept.drop(answer["result"]["session_id"])
    assert (await request("POST", f"{BASE}/mcp", make))[0] == 200
    for key in list(kept._kept):
        await kept.drop(key)
