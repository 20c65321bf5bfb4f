"""MCP servers: how one is reached, and which may be used.

A server is named in the file that `GEM_MCP_SERVERS` names, in the form that MCP clients share:

{"mcpServers": {"time": {"command": "mcp-server-time"}, "docs": {"url": "https://example.org/mcp"}}}

Commands are confined (`gem.sandbox.mcp_confinement`). What one may use besides its interpreter and its packages is said
by who allows it: in that file under `confined`, or in `MCPTool(..., allow={command: {...}})`; never by a configuration
that came from elsewhere.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from gem.errors import InvalidArgument
from gem.sandbox.mcp_confinement import Confinement
from gem.validation.arguments import check_arguments

SERVERS_FILE = "GEM_MCP_SERVERS"
COMMANDS = "GEM_MCP_COMMANDS"
Allowed = Sequence[str] | Mapping[str, bool | Mapping[str, Any]]
"""Commands, alone or each with what it may use."""


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
    confinement: Confinement | None = field(default_factory=Confinement)
    """What a command may use; None: it is not confined, because who runs the site said so."""
    shared: bool = False
    """Whether all environments of a process may use one connection, because the server remembers nothing."""

    def in_words(self) -> str:
        """What it may do, for people who run the site."""
        if self.url:
            return "over HTTP, on another machine or as a service of this one"
        return self.confinement.in_words() if self.confinement else "not confined"


def read_config(config: Mapping[str, Any], *, trusted: bool = False) -> list[ServerConfig]:
    """The servers of a configuration: `{"mcpServers": {name: server}}`, or one server alone.

    Args:
        config: as MCP clients share it.
        trusted: whether it is from who runs the site, and may say under `confined` what a command may use.

    Raises:
        InvalidArgument: if a server has neither a command nor a URL, or something of the wrong type.
    """
    servers = config.get("mcpServers", {"default": config})
    if not isinstance(servers, dict) or not all(isinstance(one, dict) for one in servers.values()):
        raise InvalidArgument('A configuration of MCP servers is {"mcpServers": {"name": {"command": ...}}}.')
    return [_server(name, one, trusted) for name, one in servers.items()]


def _server(name: str, one: Mapping[str, Any], trusted: bool) -> ServerConfig:
    command, url = one.get("command", ""), one.get("url", "")
    args, env, headers = one.get("args", []), one.get("env", {}), one.get("headers", {})
    if bool(command) == bool(url) or not isinstance(command, str) or not isinstance(url, str):
        raise InvalidArgument(f"The MCP server {name!r} has either a command or a url.")
    if url and not url.startswith(("http://", "https://")):
        raise InvalidArgument(f"The url of the MCP server {name!r} begins with http:// or https://.")
    if not isinstance(args, list) or not isinstance(env, dict) or not isinstance(headers, dict):
        raise InvalidArgument(f"The args of the MCP server {name!r} are a list, its env and headers objects.")
    if "confined" in one and not trusted:
        raise InvalidArgument(
            f"What the MCP server {name!r} may use is not for its configuration to say: move `confined` to "
            f"allow={{{command!r}: ...}}, or register the server in the file that {SERVERS_FILE} names."
        )
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
        confinement=read_confinement(one.get("confined", True), name),
        shared=one.get("shared") is True,
    )


def read_confinement(said: object, name: str) -> Confinement | None:
    """What `confined` says: true, false (None), or an object with the fields of `Confinement`.

    Raises:
        InvalidArgument: for anything else.
    """
    if isinstance(said, bool):
        return Confinement() if said else None
    if not isinstance(said, Mapping):
        raise InvalidArgument(f"`confined` of the MCP server {name!r} is true, false or an object.")
    check_arguments(Confinement, said, f"`confined` of the MCP server {name!r}")
    given: dict[str, Any] = {}
    for one in fields(Confinement):
        if one.name not in said:
            continue
        value = said[one.name]
        several = one.name in ("network", "read", "write")
        if several and not (isinstance(value, list | tuple) and all(isinstance(part, str) for part in value)):
            raise InvalidArgument(f"{one.name} of the MCP server {name!r} is a list of texts.")
        if not several and (isinstance(value, bool) or not isinstance(value, int)):
            raise InvalidArgument(f"{one.name} of the MCP server {name!r} is a whole number.")
        given[one.name] = tuple(value) if several else value
    return Confinement(**given)


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
        server.name: server
        for server in read_config(config if isinstance(config, dict) else {"mcpServers": config}, trusted=True)
    }


def allow_commands(servers: Sequence[ServerConfig], allowed: Allowed) -> list[ServerConfig]:
    """The servers with what their commands may use; refuses to start what nobody has allowed.

    Args:
        servers: from a configuration.
        allowed: commands, which are then confined, or commands with what `confined` says of each.

    Raises:
        InvalidArgument: if a command is neither in `allowed` nor in `GEM_MCP_COMMANDS`.
    """
    given = allowed if isinstance(allowed, Mapping) else dict.fromkeys(allowed, True)
    known: dict[str, object] = dict.fromkeys(filter(None, os.environ.get(COMMANDS, "").split(",")), True) | dict(given)
    for server in servers:
        if server.command and server.command not in known:
            raise InvalidArgument(
                f"The command {server.command!r} may not be started. Allow it with allow=[{server.command!r}] or in "
                f"{COMMANDS}, or register the server in the file that {SERVERS_FILE} names."
            )
    return [
        replace(server, confinement=read_confinement(known[server.command], server.name)) if server.command else server
        for server in servers
    ]
