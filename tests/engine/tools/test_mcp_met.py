"""What servers that nobody here wrote do besides answering: sessions that end, questions back, parts that are no text.

The reference server `mcp-server-everything` is asked where it is on the path:
`npm install -g @modelcontextprotocol/server-everything@2026.8.31`.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from gem.errors import ToolError
from gem.tools.mcp_tool import MCPTool
from tests.engine.tools.servers import installed
from tests.packages import skip_without

skip_without("mcp")

OLDER = Path(__file__).with_name("older_server.py")
EVERYTHING = shutil.which("mcp-server-everything")
needs_everything = pytest.mark.skipif(EVERYTHING is None, reason="mcp-server-everything (npm) is not on the path")


def older_python() -> str:
    return str(installed("calculator").with_name("python"))


@pytest.fixture
def over_http() -> Iterator[Callable[[], str]]:
    """Starts the older server over HTTP, anew if it runs; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    running: list[subprocess.Popen[bytes]] = []

    def start() -> str:
        for process in running:
            process.kill()
            process.wait()
        running.append(
            subprocess.Popen(
                [older_python(), str(OLDER), "streamable-http", str(port)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return f"http://127.0.0.1:{port}/mcp"
            time.sleep(0.1)
        raise AssertionError("the server did not start")

    yield start
    for process in running:
        process.kill()
        process.wait()


def test_a_server_that_was_started_anew_is_asked_in_a_new_session(over_http: Callable[[], str]) -> None:
    tool = MCPTool(over_http())
    assert tool.call("echo", {"text": "one"}).text == "one"
    over_http()
    found = tool.call("echo", {"text": "two"})
    assert (found.error, found.text) == (False, "two")
    tool.close()


def test_a_closed_tool_keeps_no_connection(over_http: Callable[[], str]) -> None:
    address = over_http()
    port = int(address.split(":")[2].removesuffix("/mcp"))

    def connected() -> int:
        open_here = psutil.Process().net_connections("tcp")
        return sum(bool(one.raddr) and one.raddr.port == port for one in open_here)

    tool = MCPTool(address)
    assert tool.call("echo", {"text": "one"}).text == "one"
    assert connected() > 0
    tool.close()
    deadline = time.monotonic() + 60
    while connected() and time.monotonic() < deadline:
        time.sleep(0.05)  # on a busy machine the end of the session is not awaited for ever
    assert connected() == 0


def test_another_address_of_the_server_says_its_status(over_http: Callable[[], str]) -> None:
    tool = MCPTool(over_http().replace("/mcp", "/elsewhere"))
    with pytest.raises(ToolError, match="it answered 404"):
        tool.functions()
    tool.close()


@pytest.mark.parametrize("asked", ["elicitation", "sampling", "roots"])
def test_a_server_that_asks_back_is_told_no_and_goes_on(asked: str) -> None:
    python = older_python()
    tool = MCPTool({"command": python, "args": [str(OLDER), "stdio"]}, allow=[python])
    found = tool.call(asked, {})
    assert found.error
    assert "not supported" in found.text
    assert tool.call("echo", {"text": "still here"}).text == "still here"
    tool.close()


@pytest.fixture(scope="module")
def everything() -> Iterator[MCPTool]:
    assert EVERYTHING is not None
    tool = MCPTool({"command": EVERYTHING}, allow=[EVERYTHING])
    yield tool
    tool.close()


@needs_everything
def test_texts_and_addresses_of_resources_reach_the_agent(everything: MCPTool) -> None:
    def said(name: str, **arguments: Any) -> list[str]:
        return everything.call(name, arguments).text.splitlines()

    assert "[resource_link Text Resource 2: demo://resource/dynamic/text/2]" in said("get-resource-links", count=2)
    shown = said("get-resource-reference", resourceType="Text", resourceId=1)
    assert shown[1] == "[resource demo://resource/dynamic/text/1]"
    assert shown[2].startswith("Resource 1: This is a plaintext resource")
    assert "[image]" in said("get-tiny-image")


@needs_everything
def test_a_tool_that_refuses_plain_calls_is_not_offered(everything: MCPTool) -> None:
    names = [one["name"] for one in everything.get_available_tools()]
    assert "simulate-research-query" not in names
    assert "trigger-long-running-operation" in names
