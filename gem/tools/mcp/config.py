"""Configurations of MCP servers: how each is reached, and which may be used.

The environment variable `GEM_MCP_SERVERS` names a file with servers, in the form that MCP clients share:

{"mcpServers": {"time": {"command": "mcp-server-time"}, "docs": {"url": "https://example.org/mcp"}}}

Commands are confined (`gem.sandbox.process_confinement`). What a command may use besides its interpreter and packages
is decided by whoever permits the command: in that file under `confined`, or in `MCPTool(..., allow={command: {...}})`.
A configuration from elsewhere cannot decide it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from gem.errors import InvalidArgument
from gem.sandbox.process_confinement import Confinement
from gem.validation.arguments import check_arguments

SERVERS_FILE_VARIABLE = "GEM_MCP_SERVERS"
"""Environment variable with the path of the file that registers servers."""
COMMANDS_VARIABLE = "GEM_MCP_COMMANDS"
"""Environment variable with commands that any configuration may start, separated by commas."""
CommandPermissions = Sequence[str] | Mapping[str, bool | Mapping[str, Any]]
"""Permitted commands, alone or each with what it may use."""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """How a server is reached: by starting a command and communicating through its pipes, or over HTTP."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Environment variables for the command besides the few that every process needs; it gets no other of ours."""
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    """HTTP headers of every request; they may be secret and are never recorded."""
    sse: bool = False
    """Whether the server uses the older transport over server-sent events."""
    confinement: Confinement | None = field(default_factory=Confinement)
    """What the command may use; None if whoever runs the site decided not to confine it."""
    shared: bool = False
    """Whether all environments of a process may use one connection, because the server keeps no state."""

    def in_words(self) -> str:
        """What the server may do, as a description for people who run the site."""
        if self.url:
            return "over HTTP, on another machine or as a service of this one"
        return self.confinement.in_words() if self.confinement else "not confined"


def read_config(config: Mapping[str, Any], *, trusted: bool = False) -> list[ServerConfig]:
    """The servers of a configuration: `{"mcpServers": {name: server}}`, or a single server.

    Args:
        config: in the form that MCP clients share.
        trusted: whether the configuration is from whoever runs the site, and may set under `confined` what a command
            may use.

    Raises:
        InvalidArgument: if a server has neither a command nor a URL, or a value of the wrong type.
    """
    servers = config.get("mcpServers", {"default": config})
    if not isinstance(servers, dict) or not all(isinstance(server, dict) for server in servers.values()):
        raise InvalidArgument('A configuration of MCP servers is {"mcpServers": {"name": {"command": ...}}}.')
    return [_read_server(name, server, trusted) for name, server in servers.items()]


def _read_server(name: str, entry: Mapping[str, Any], trusted: bool) -> ServerConfig:
    command, url = entry.get("command", ""), entry.get("url", "")
    args, env, headers = entry.get("args", []), entry.get("env", {}), entry.get("headers", {})
    if bool(command) == bool(url) or not isinstance(command, str) or not isinstance(url, str):
        raise InvalidArgument(f"The MCP server {name!r} has either a command or a url.")
    if url and not url.startswith(("http://", "https://")):
        raise InvalidArgument(f"The url of the MCP server {name!r} begins with http:// or https://.")
    if not isinstance(args, list) or not isinstance(env, dict) or not isinstance(headers, dict):
        raise InvalidArgument(f"The args of the MCP server {name!r} are a list, its env and headers objects.")
    if "confined" in entry and not trusted:
        raise InvalidArgument(
            f"What the MCP server {name!r} may use is not for its configuration to say: move `confined` to "
            f"allow={{{command!r}: ...}}, or register the server in the file that {SERVERS_FILE_VARIABLE} names."
        )
    transport = entry.get("transport", entry.get("type", ""))
    return ServerConfig(
        name,
        command,
        tuple(map(str, args)),
        _as_strings(env),
        entry.get("cwd"),
        url,
        _as_strings(headers),
        sse=transport == "sse",
        confinement=read_confinement(entry.get("confined", True), name),
        shared=entry.get("shared") is True,
    )


def _as_strings(pairs: Mapping[Any, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in pairs.items()}


def read_confinement(value: object, server: str) -> Confinement | None:
    """The confinement that the entry `confined` of a server describes; None if it is false.

    Args:
        value: true, false, or an object with the fields of `Confinement`.
        server: the server's name, for error messages.

    Raises:
        InvalidArgument: for any other value.
    """
    if isinstance(value, bool):
        return Confinement() if value else None
    if not isinstance(value, Mapping):
        raise InvalidArgument(f"`confined` of the MCP server {server!r} is true, false or an object.")
    check_arguments(Confinement, value, f"`confined` of the MCP server {server!r}")
    arguments: dict[str, Any] = {}
    for name in (setting.name for setting in fields(Confinement)):
        if name not in value:
            continue
        argument = value[name]
        is_list = name in ("network", "read", "write")
        if is_list and not (isinstance(argument, list | tuple) and all(isinstance(item, str) for item in argument)):
            raise InvalidArgument(f"{name} of the MCP server {server!r} is a list of texts.")
        if not is_list and (isinstance(argument, bool) or not isinstance(argument, int)):
            raise InvalidArgument(f"{name} of the MCP server {server!r} is a whole number.")
        arguments[name] = tuple(argument) if is_list else argument
    return Confinement(**arguments)


def registered_servers() -> dict[str, ServerConfig]:
    """The servers, by name, in the file that `GEM_MCP_SERVERS` names; none if the variable is not set.

    Raises:
        InvalidArgument: if the file cannot be read.
    """
    path = os.environ.get(SERVERS_FILE_VARIABLE)
    if not path:
        return {}
    try:
        config = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise InvalidArgument(
            f"{path}, which {SERVERS_FILE_VARIABLE} names, is no configuration of MCP servers."
        ) from error
    servers = read_config(config if isinstance(config, dict) else {"mcpServers": config}, trusted=True)
    return {server.name: server for server in servers}


def allow_commands(servers: Sequence[ServerConfig], permissions: CommandPermissions) -> list[ServerConfig]:
    """The servers, each with what its command may use.

    Args:
        servers: from a configuration.
        permissions: commands, which are then confined, or commands each with a value of `confined`.

    Raises:
        InvalidArgument: if a command is neither in `permissions` nor in `GEM_MCP_COMMANDS`.
    """
    site_commands = filter(None, os.environ.get(COMMANDS_VARIABLE, "").split(","))
    confinements: dict[str, object] = dict.fromkeys(site_commands, True)
    confinements |= permissions if isinstance(permissions, Mapping) else dict.fromkeys(permissions, True)
    for server in servers:
        if server.command and server.command not in confinements:
            raise InvalidArgument(
                f"The command {server.command!r} may not be started. Allow it with allow=[{server.command!r}] or in "
                f"{COMMANDS_VARIABLE}, or register the server in the file that {SERVERS_FILE_VARIABLE} names."
            )
    return [
        replace(server, confinement=read_confinement(confinements[server.command], server.name))
        if server.command
        else server
        for server in servers
    ]
