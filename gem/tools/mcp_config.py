"""MCP servers: how one is reached, and which may be used.

A server is named in the file that `GEM_MCP_SERVERS` names, in the form that MCP clients share:

{"mcpServers": {"time": {"command": "mcp-server-time"}, "docs": {"url": "https://example.org/mcp"}}}
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gem.errors import InvalidArgument

SERVERS_FILE = "GEM_MCP_SERVERS"
COMMANDS = "GEM_MCP_COMMANDS"


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """How a server is reached: by starting a command and talking through its pipes, or over HTTP."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Variables for the command besides the few that every process needs; nothing else of ours reaches it."""
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Sent with every request; they may be secret and are in no record."""
    sse: bool = False
    """Whether the server speaks the older transport over server-sent events."""
    shared: bool = False
    """Whether all environments of a process may use one connection, because the server remembers nothing."""


def read_config(config: Mapping[str, Any]) -> list[ServerConfig]:
    """The servers of a configuration: `{"mcpServers": {name: server}}`, or one server alone.

    Raises:
        InvalidArgument: if a server has neither a command nor a URL, or something of the wrong type.
    """
    servers = config.get("mcpServers", {"default": config})
    if not isinstance(servers, dict) or not all(isinstance(one, dict) for one in servers.values()):
        raise InvalidArgument('A configuration of MCP servers is {"mcpServers": {"name": {"command": ...}}}.')
    return [_server(name, one) for name, one in servers.items()]


def _server(name: str, one: Mapping[str, Any]) -> ServerConfig:
    command, url = one.get("command", ""), one.get("url", "")
    args, env, headers = one.get("args", []), one.get("env", {}), one.get("headers", {})
    if bool(command) == bool(url) or not isinstance(command, str) or not isinstance(url, str):
        raise InvalidArgument(f"The MCP server {name!r} has either a command or a url.")
    if url and not url.startswith(("http://", "https://")):
        raise InvalidArgument(f"The url of the MCP server {name!r} begins with http:// or https://.")
    if not isinstance(args, list) or not isinstance(env, dict) or not isinstance(headers, dict):
        raise InvalidArgument(f"The args of the MCP server {name!r} are a list, its env and headers objects.")
    transport = one.get("transport", one.get("type", ""))
    texts = [{str(key): str(value) for key, value in pairs.items()} for pairs in (env, headers)]
    return ServerConfig(
        name,
        command,
        tuple(map(str, args)),
        texts[0],
        one.get("cwd"),
        url,
        texts[1],
        sse=transport == "sse",
        shared=one.get("shared") is True,
    )


def registered_servers() -> dict[str, ServerConfig]:
    """The servers in the file that `GEM_MCP_SERVERS` names; none without it.

    Raises:
        InvalidArgument: if the file cannot be read.
    """
    path = os.environ.get(SERVERS_FILE)
    if not path:
        return {}
    try:
        config = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"{path}, which {SERVERS_FILE} names, is no configuration of MCP servers.") from error
    return {
        server.name: server for server in read_config(config if isinstance(config, dict) else {"mcpServers": config})
    }


def check_commands(servers: Sequence[ServerConfig], allowed: Sequence[str]) -> None:
    """Refuse to start what nobody has allowed.

    Raises:
        InvalidArgument: if a command is neither in `allowed` nor in `GEM_MCP_COMMANDS`.
    """
    known = {*allowed, *filter(None, os.environ.get(COMMANDS, "").split(","))}
    for server in servers:
        if server.command and server.command not in known:
            raise InvalidArgument(
                f"The command {server.command!r} may not be started. Allow it with allow=[{server.command!r}] or in "
                f"{COMMANDS}, or register the server in the file that {SERVERS_FILE} names."
            )
