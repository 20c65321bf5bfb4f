"""What MCP servers offer is asked beforehand by who cannot wait, and a server that hangs costs a bounded time, once."""

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import gem
from gem.errors import EnvironmentFailure, ToolError
from gem.tools import ToolEnvWrapper, make_tool
from gem.tools.mcp import listings as mcp_listings
from gem.tools.mcp import servers as mcp_servers
from gem.tools.mcp_tool import MCPTool
from tests.engine.tools.servers import BAD_SERVER

stdio = pytest.importorskip("mcp.client.stdio")
GUESS = "game:GuessTheNumber-v0-easy"
PATIENCE = 60.0


@pytest.fixture(autouse=True)
def _servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(stdio, "PROCESS_TERMINATION_TIMEOUT", 0.3)  # the SDK's patience with a server told to end
    file = tmp_path / "servers.json"
    bad = {"command": sys.executable, "args": [str(BAD_SERVER)]}
    silent = {"command": sys.executable, "args": [str(BAD_SERVER), "silent"]}
    file.write_text(json.dumps({"mcpServers": {"bad": bad, "silent": silent}}))
    monkeypatch.setenv("GEM_MCP_SERVERS", str(file))
    mcp_listings._listings.clear()
    yield
    mcp_listings._listings.clear()


def tool(name: str) -> MCPTool:
    made = make_tool({"name": "mcp", "servers": [name]})
    assert isinstance(made, MCPTool)
    return made


def ours(argument: str) -> list[int]:
    """Processes of servers with this argument that are below this one."""
    found, parents = [], {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                words = (entry / "cmdline").read_text().split("\0")
            except OSError:
                continue
            if str(BAD_SERVER) in words and argument in words:
                found.append(int(entry.name))

    def below(pid: int) -> bool:
        return pid == os.getpid() or (pid in parents and below(parents[pid]))

    return [pid for pid in found if below(pid)]


def test_an_episode_begins_without_contact_once_the_server_was_looked_at() -> None:
    looked = ToolEnvWrapper(gem.make(GUESS), [tool("bad")])
    looked.prepare_tools(PATIENCE)
    looked.close()
    env = ToolEnvWrapper(gem.make(GUESS), [tool("bad")])
    assert '"name": "echo"' in env.reset(seed=1)[0]
    assert env.tools[0]._connections["bad"]._session is None  # type: ignore[attr-defined]
    call = json.dumps({"name": "echo", "arguments": {"text": "hello"}})
    assert "hello" in env.step(f"<tool_call>{call}</tool_call>")[0], "a call connects"
    env.close()


def test_a_server_that_hangs_ends_the_wait_and_leaves_no_process() -> None:
    env = ToolEnvWrapper(gem.make(GUESS), [tool("silent")])
    with pytest.raises(EnvironmentFailure, match=r"cannot begin without its tools: .*silent did not start within"):
        env.prepare_tools(2.0)
    until = time.monotonic() + PATIENCE
    while ours("silent") and time.monotonic() < until:
        time.sleep(0.1)
    assert ours("silent") == []


def test_a_session_may_be_stopped_at_any_moment_and_leaves_no_process() -> None:
    before = ours(str(BAD_SERVER))  # a server that tests share may live as long as this process
    sessions = []
    for name in ("silent", "bad"):
        (connection,) = tool(name)._connections.values()
        arguments = connection.server, connection._start(), connection.handlers
        sessions += [mcp_servers._Session(*arguments) for _ in range(5)]
    began = time.monotonic()
    for index, seconds in enumerate((0.0, 0.02, 0.1, 0.4, 1.5)):  # as long as they start, and then
        time.sleep(max(0.0, began + seconds - time.monotonic()))
        for session in (sessions[index], sessions[5 + index]):
            session.stop()
            session.stop()
    for session in sessions:
        session._task.result(PATIENCE)
    assert ours(str(BAD_SERVER)) == before


def test_a_server_that_could_not_be_used_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def ask(seconds: float) -> list[dict[str, object]]:
        asked.append(seconds)
        raise ToolError("It is broken.")

    (connection,) = tool("silent")._connections.values()
    for _ in range(5):
        with pytest.raises(ToolError, match=r"It is broken\."):
            mcp_listings.refresh_listing(connection.server, ask, 1.0)
    assert len(asked) == 1
    later = time.monotonic() + mcp_listings.FAILURE_CACHE_SECONDS + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    with pytest.raises(ToolError):
        mcp_listings.refresh_listing(connection.server, ask, 1.0)
    assert len(asked) == 2


def test_many_at_once_ask_a_server_once() -> None:
    asked = []
    begun = threading.Barrier(8)

    def ask(_: float) -> list[dict[str, object]]:
        asked.append(1)
        time.sleep(0.2)
        return [{"name": "one", "description": "", "parameters": {}}]

    (connection,) = tool("bad")._connections.values()

    def one() -> None:
        begun.wait()
        mcp_listings.refresh_listing(connection.server, ask, PATIENCE)

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asked) == 1
    assert mcp_listings.cached_listing(connection.server) is not None
