"""Tools of MCP servers: two servers from PyPI as processes, one over HTTP, and one that misbehaves."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.errors import EnvironmentFailure, InvalidArgument, ToolError
from gem.replay import frames, verify
from gem.rollout import EpisodeRequest, rollout
from gem.tools import ToolEnvWrapper, make_tool
from gem.tools.mcp_tool import MCPTool
from tests.engine.tools.script import Script
from tests.engine.tools.servers import BAD_SERVER, installed
from tests.packages import skip_without

skip_without("mcp")

GUESS = "game:GuessTheNumber-v0-easy"
PYTHON = sys.executable


def call(function: str, **arguments: Any) -> str:
    return f"<tool_call>{json.dumps({'name': function, 'arguments': arguments})}</tool_call>"


def said(tool: MCPTool, function: str, **arguments: Any) -> tuple[bool, str]:
    """Whether a call went wrong, and what came back."""
    valid, error, told, _ = tool.execute_action(call(function, **arguments))
    assert valid
    return error, told.removeprefix("\n<tool_response>\n").removesuffix("\n</tool_response>\n")


@pytest.fixture
def bad() -> Iterator[MCPTool]:
    tool = MCPTool({"command": PYTHON, "args": [str(BAD_SERVER)]}, allow=[PYTHON], execution_timeout=5)
    yield tool
    tool.close()


# ------------------------------------------------------------------ servers from PyPI


@pytest.fixture(scope="module")
def time_and_calculator() -> Iterator[MCPTool]:
    commands = {name: str(installed(name)) for name in ("time", "calculator")}
    config = {"mcpServers": {name: {"command": command} for name, command in commands.items()}}
    tool = MCPTool(config, allow=list(commands.values()))
    yield tool
    tool.close()


def test_servers_from_pypi_say_what_they_offer(time_and_calculator: MCPTool) -> None:
    names = [one["name"] for one in time_and_calculator.get_available_tools()]
    assert names == ["calculator_calculate", "time_convert_time", "time_get_current_time"]
    told = time_and_calculator.instruction_string()
    assert all(name in told for name in names)


def test_servers_from_pypi_answer(time_and_calculator: MCPTool) -> None:
    arguments = {"source_timezone": "Europe/Paris", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    error, text = said(time_and_calculator, "time_convert_time", **arguments)
    assert not error
    assert re.search(r"T(19|20):00:00\+09:00", text)
    assert said(time_and_calculator, "calculator_calculate", expression="2**10 + 17") == (False, "1041")


def test_their_errors_come_back_in_words(time_and_calculator: MCPTool) -> None:
    error, text = said(time_and_calculator, "time_get_current_time", timezone="Nowhere")
    assert error
    assert "Nowhere" in text
    error, text = said(time_and_calculator, "time_weather")
    assert error
    assert "there is calculator_calculate" in text


def test_an_episode_with_them_is_played_natively_and_replayed_without_them(time_and_calculator: MCPTool) -> None:
    env = ToolEnvWrapper(gem.make(GUESS), [time_and_calculator], format="native")
    observation, first_info = env.reset(seed=7)
    assert '"name": "calculator_calculate"' in observation
    action = call("calculator_calculate", expression="6*7")
    told, *_, info = env.step(action)
    assert told == "<tool_response>\n42\n</tool_response>"
    elsewhere = ToolEnvWrapper(gem.make(GUESS), [make_tool({"name": "mcp", "servers": ["nobody"]})], format="native")
    elsewhere.feed_tape(first_info)
    assert elsewhere.reset(seed=7)[0] == observation
    elsewhere.feed_tape(info)
    assert elsewhere.step(action)[0] == told


# ------------------------------------------------------------------ over HTTP


@pytest.fixture(scope="module")
def http_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of the maintained package, in a process of its own."""
    code = """
import sys
from mcp.server.mcpserver import Context, MCPServer
server = MCPServer("towns")
@server.tool()
def twice(number: int) -> int:
    "Twice a number."
    return 2 * number
@server.tool()
def header(name: str, ctx: Context) -> str:
    "A header of the request."
    return str((ctx.headers or {}).get(name, "none"))
server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
"""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("http") / "log"
    with log.open("w") as file:
        process = subprocess.Popen([PYTHON, "-c", code, str(port)], stdout=file, stderr=file)
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


def test_a_server_over_http_answers_and_gets_the_headers(http_server: str) -> None:
    tool = MCPTool(http_server, auth="secret", headers={"X-Town": "Bern"})
    assert said(tool, "twice", number=21) == (False, "42")
    assert said(tool, "header", name="authorization") == (False, "Bearer secret")
    assert said(tool, "header", name="x-town") == (False, "Bern")
    assert "secret" not in json.dumps(tool.settings())
    tool.close()


def test_a_server_over_http_that_is_not_there_says_so() -> None:
    tool = MCPTool("http://127.0.0.1:9/mcp")
    with pytest.raises(ToolError, match="cannot be used"):
        tool.functions()
    error, text = said(tool, "anything")
    assert error
    assert "cannot be used" in text
    tool.close()


# ------------------------------------------------------------------ faults


def test_a_server_that_dies_is_started_again(bad: MCPTool) -> None:
    assert said(bad, "echo", text="hello") == (False, "hello")
    error, text = said(bad, "die")
    assert error
    assert "ended while it was asked" in text
    assert said(bad, "echo", text="again") == (False, "again")


def test_a_server_that_died_between_calls_is_started_again_unseen(bad: MCPTool) -> None:
    said(bad, "echo")
    (connection,) = bad._connections.values()
    session = connection._session
    assert session is not None
    os.kill(_child(), 9)
    deadline = time.monotonic() + 30
    while session.alive and time.monotonic() < deadline:
        time.sleep(0.01)
    assert said(bad, "echo", text="again") == (False, "again")


def _child() -> int:
    """The newest process of the bad server that is ours: confined ones are processes of our processes."""
    commands, parents = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                commands[int(entry.name)] = (entry / "cmdline").read_text()
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue

    def ours(pid: int) -> bool:
        return pid == os.getpid() or (pid in parents and ours(parents[pid]))

    return max(pid for pid, command in commands.items() if str(BAD_SERVER) in command and ours(pid))


def test_a_server_that_hangs_costs_a_call_and_no_more() -> None:
    tool = MCPTool({"command": PYTHON, "args": [str(BAD_SERVER)]}, allow=[PYTHON], execution_timeout=0.5)
    error, text = said(tool, "hang")
    assert error
    assert "did not answer within 0.5 s" in text
    tool.execution_timeout = 5
    assert said(tool, "echo", text="back") == (False, "back")
    tool.close()


def test_garbage_between_the_lines_is_passed_over(bad: MCPTool) -> None:
    assert said(bad, "garbage", text="still here") == (False, "still here")


def test_a_flood_is_cut_before_it_is_kept(bad: MCPTool) -> None:
    env = ToolEnvWrapper(gem.make(GUESS), [bad], max_output=1000)
    env.reset(seed=1)
    observation, *_, info = env.step(call("flood"))
    assert len(observation) < 1200
    assert info["tool_calls"][0]["output"].endswith("[4,999,000 more characters]")


def test_what_is_no_text_is_named(bad: MCPTool) -> None:
    assert said(bad, "picture") == (False, "[image]")
    assert said(bad, "empty") == (False, "")


def test_names_that_chat_servers_refuse_are_changed_for_agents_alone() -> None:
    tool = MCPTool({"command": PYTHON, "args": [str(BAD_SERVER), "odd"]}, allow=[PYTHON])
    offered = tool.get_available_tools()
    names = [one["name"] for one in offered]
    assert names == ["repo_list", "repo_list_2", "x" * 64]
    assert [tool.call(name, {}).text for name in names] == ["repo.list", "repo/list", "x" * 100]
    assert all(one["parameters"]["properties"] == {} for one in offered)
    tool.close()


def test_our_environment_does_not_reach_a_server(bad: MCPTool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "do not tell")
    error, text = said(bad, "environment")
    assert not error
    assert "do not tell" not in text
    assert "PATH" in json.loads(text)


@pytest.mark.parametrize("command", ["/bin/false", "/bin/cat", "/nonexistent/command"])
def test_a_command_that_is_no_server_cannot_begin_an_episode(command: str) -> None:
    env = ToolEnvWrapper(gem.make(GUESS), [MCPTool({"command": command}, allow=[command])])
    with pytest.raises(EnvironmentFailure, match="cannot begin without its tools"):
        env.reset(seed=1)
    env.close()


def test_a_closed_tool_leaves_no_process(bad: MCPTool) -> None:
    said(bad, "echo")
    pid = _child()
    bad.close()
    assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text()


def test_a_forgotten_tool_leaves_no_process() -> None:
    tool = MCPTool({"command": PYTHON, "args": [str(BAD_SERVER)]}, allow=[PYTHON])
    said(tool, "echo")
    pid = _child()
    del tool
    for _ in range(300):
        if not Path(f"/proc/{pid}").exists():
            return
        time.sleep(0.1)
    raise AssertionError("the server still runs")


def test_what_a_server_remembers_is_not_shared_unless_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = {"command": PYTHON, "args": [str(BAD_SERVER)]}
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"own": server, "common": {**server, "shared": True}}}))
    monkeypatch.setenv("GEM_MCP_SERVERS", str(path))
    for name, counted in (("own", ["1", "1"]), ("common", ["1", "2"])):
        tools = [make_tool({"name": "mcp", "servers": [name]}) for _ in range(2)]
        assert [said(tool, "remember")[1] for tool in tools if isinstance(tool, MCPTool)] == counted
        for tool in tools:
            tool.close()


def test_a_fresh_server_remembers_nothing_of_the_last_episode() -> None:
    server = {"command": PYTHON, "args": [str(BAD_SERVER)]}
    env = ToolEnvWrapper(gem.make(GUESS), [MCPTool(server, allow=[PYTHON], fresh=True)])
    for seed in (1, 2):
        env.reset(seed=seed)
        assert "\n1\n" in env.step(call("remember"))[0]
    env.close()


# ------------------------------------------------------------------ what may be started


def test_a_command_has_to_be_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgument, match="may not be started"):
        MCPTool({"command": "rm", "args": ["-rf", "/"]})
    monkeypatch.setenv("GEM_MCP_COMMANDS", "uvx,pipx")
    assert MCPTool.from_local_command({"command": "pipx", "args": ["run", "x"]}, name="db").settings() == {
        "servers": ["db"]
    }


@pytest.mark.parametrize(
    "described",
    [
        {"name": "mcp", "config": {"command": "rm"}},
        {"name": "mcp", "servers": ["time"], "allow": ["rm"]},
        {"name": "mcp", "url": "http://127.0.0.1/"},
    ],
)
def test_a_record_can_name_servers_and_nothing_else(described: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match="takes no argument"):
        make_tool(described)


def test_a_server_that_is_not_registered_is_missed_only_when_it_is_used() -> None:
    tool = make_tool({"name": "mcp", "servers": ["time"]})
    assert tool.settings() == {"servers": ["time"]}
    with pytest.raises(ToolError, match="GEM_MCP_SERVERS"):
        tool.functions()
    with pytest.raises(ToolError, match="No MCP server is registered"):
        make_tool("mcp").functions()


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({}, "either a command or a url"),
        ({"command": "a", "url": "http://b"}, "either a command or a url"),
        ({"url": "file:///etc/passwd"}, "http://"),
        ({"command": "a", "args": "b"}, "list"),
        ({"mcpServers": []}, "configuration"),
    ],
)
def test_a_configuration_that_cannot_be_read_says_why(config: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidArgument, match=told):
        MCPTool(config, allow=["a"])


def test_a_registered_server_is_in_the_record_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"bad": {"command": PYTHON, "args": [str(BAD_SERVER)]}}}))
    monkeypatch.setenv("GEM_MCP_SERVERS", str(path))
    wrappers = [{"name": "tools", "tools": [{"name": "mcp", "servers": ["bad"]}]}]
    [record] = rollout(
        Script(call("remember"), call("echo", text="hi"), "end"), [EpisodeRequest(0, GUESS, 7, wrappers=wrappers)]
    )
    assert "hi" in record.turns[1].observation
    monkeypatch.delenv("GEM_MCP_SERVERS")
    shown = list(frames(record.identity, [turn.action for turn in record.turns], record.infos))
    assert [frame.observation for frame in shown] == [record.first_observation, *(t.observation for t in record.turns)]
    found = verify(
        record.identity, record.turns, first_observation=record.first_observation, first_info=record.first_info
    )
    assert found is None
