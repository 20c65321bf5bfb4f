"""Tools of MCP servers, started as commands or reached over HTTP (https://modelcontextprotocol.io)."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from gem.errors import InvalidArgument, ToolError
from gem.tools.calls import find_calls
from gem.tools.mcp.config import (
    SERVERS_FILE_VARIABLE,
    CommandPermissions,
    ServerConfig,
    allow_commands,
    read_config,
    registered_servers,
)
from gem.tools.mcp.handlers import Handlers
from gem.tools.mcp.servers import Connection, connect
from gem.tools.schema import FunctionSchema
from gem.tools.tool import BaseTool, ToolCall, ToolOutput

TIMEOUT = 30.0
"""Seconds for a call, as in GEM."""
MAX_NAME_CHARS = 64


class MCPTool(BaseTool):
    """All tools of one or several MCP servers.

    Each tool has connections of its own, made when they are first needed and kept until `close`: what a server
    remembers is not shared between environments, except for servers that are said to remember nothing (`"shared": true`
    in their configuration). Where there are several servers, the name of each stands before its tools:
    `time_convert_time`.

    Args:
        config: the URL of a server, or a configuration as MCP clients share it (see `gem.tools.mcp.config`).
        auth: a bearer token, for a URL.
        headers: further headers, for a URL.
        log_handler: gets each message of a server's log.
        progress_handler: gets how far a call has come, how far it goes, and a text.
        sampling_handler: gets the messages, parameters and context of a server's question to a model, and answers it.
        max_retries: how often a server that cannot be reached is asked for its tools. A call is never repeated.
        delay_between_retries: seconds between two such attempts.
        execution_timeout: seconds for one call.
        validate_on_init: whether to ask the servers for their tools at once, and not when they are first needed.
        allow: commands that may be started, besides those in `GEM_MCP_COMMANDS`. They are confined, without network;
            `{command: {"network": ["api.example.org:443"], "read": ["/srv/data"]}}` allows more (see
            `gem.sandbox.process_confinement.Confinement`), `{command: False}` starts one unconfined.
        fresh: whether to restart the servers for every episode, if they keep state.
        num_workers: accepted for compatibility with GEM's scripts; without effect.

    Raises:
        InvalidArgument: if the configuration cannot be read, names no server, or names a command that is not allowed;
            with `validate_on_init` also if a server cannot be reached or offers no tools.
    """

    name: ClassVar[str] = "mcp"
    tool_type: ClassVar[str] = "mcp"
    has_external_instructions = True

    def __init__(  # noqa: PLR0917 (the order of GEM's arguments)
        self,
        config: str | Mapping[str, Any] | Sequence[ServerConfig],
        auth: str | None = None,
        headers: Mapping[str, str] | None = None,
        log_handler: Callable[[Any], Any] | None = None,
        progress_handler: Callable[[float, float | None, str | None], Any] | None = None,
        sampling_handler: Callable[[list[Any], Any, Any], Any] | None = None,
        max_retries: int = 1,
        delay_between_retries: float = 1.0,
        execution_timeout: float = TIMEOUT,
        validate_on_init: bool = False,
        num_workers: int = 1,
        *,
        allow: CommandPermissions = (),
        fresh: bool = False,
    ) -> None:
        super().__init__(num_workers)
        if isinstance(config, str):
            bearer = {"Authorization": f"Bearer {auth}"} if auth else {}
            config = {"url": config, "headers": {**(headers or {}), **bearer}}
        elif auth or headers:
            raise InvalidArgument("auth and headers belong to a URL; a configuration has its own headers.")
        if execution_timeout <= 0:
            raise InvalidArgument(f"execution_timeout is more than 0 s, not {execution_timeout!r}.")
        if max_retries < 1 or delay_between_retries < 0:
            raise InvalidArgument("max_retries is at least 1, and delay_between_retries at least 0 s.")
        if isinstance(config, Mapping):
            servers = allow_commands(read_config(config), allow)
        else:
            servers = list(config)  # by name, from the file
        self.execution_timeout, self.fresh = execution_timeout, fresh
        self.max_retries, self.delay_between_retries = max_retries, delay_between_retries
        handlers = Handlers(log_handler, progress_handler, sampling_handler)
        self._connections = {server.name: connect(server, handlers) for server in servers}
        self._functions_by_name: dict[str, tuple[Connection, str]] | None = None
        self._schemas: list[FunctionSchema] = []
        self._was_called = False
        if validate_on_init:
            self._validate()

    @classmethod
    def from_url(
        cls, url: str, auth: str | None = None, headers: Mapping[str, str] | None = None, **kwargs: Any
    ) -> Self:
        """The tools of a server over HTTP, as GEM has it."""
        return cls(url, auth, headers, **kwargs)

    @classmethod
    def from_config_file(cls, config_path: str | Path, **kwargs: Any) -> Self:
        """The tools of the servers in a file.

        Raises:
            InvalidArgument: if it cannot be read.
        """
        try:
            return cls(json.loads(Path(config_path).read_text()), **kwargs)
        except (OSError, ValueError) as error:
            raise InvalidArgument(f"{config_path} is no configuration of MCP servers: {error}.") from error

    @classmethod
    def from_local_command(cls, server_params: Mapping[str, Any], name: str = "default", **kwargs: Any) -> Self:
        """The tools of a server that a command starts: `{"command": ..., "args": [...]}`."""
        return cls({"mcpServers": {name: dict(server_params)}}, **kwargs)

    @classmethod
    def from_multi_server(cls, servers: Mapping[str, str], **kwargs: Any) -> Self:
        """The tools of several servers over HTTP: name to URL."""
        return cls({"mcpServers": {name: {"url": url} for name, url in servers.items()}}, **kwargs)

    # ------------------------------------------------------------------ the interface of tools

    def prepare(self, seconds: float) -> None:
        """See `BaseTool.prepare`; fetches the list of tools of every server, within one timeout for all."""
        deadline = time.monotonic() + seconds
        for connection in self._connections.values():
            connection.look(max(0.0, deadline - time.monotonic()))

    def reset(self) -> None:
        """See `BaseTool.reset`; restarts the servers if `fresh` is set."""
        if self.fresh and self._was_called:
            self.close()
        self._was_called = False
        self._list_functions()

    def functions(self) -> list[FunctionSchema]:
        """See `BaseTool.functions`: the tools of the servers, sorted by name.

        Raises:
            ToolError: if a server cannot be reached.
        """
        self._list_functions()
        return self._schemas

    def get_available_tools(self) -> list[dict[str, Any]]:
        """The tools in GEM's format: `name`, `description` and `parameters` of each."""
        return [dict(schema["function"]) for schema in self.functions()]

    def call(self, function: str, arguments: Mapping[str, Any]) -> ToolOutput:
        """See `BaseTool.call`."""
        try:
            places = self._list_functions()
            if function not in places:
                raise ToolError(f"There is no tool {function!r:.80}; there is {', '.join(sorted(places))}.")
            self._was_called = True
            connection, name = places[function]
            details = {"sandbox": "full"} if connection.confined else {}
            return ToolOutput(*connection.call(name, arguments, self.execution_timeout), details)
        except ToolError as error:
            return ToolOutput(str(error), error=True)

    def find(self, action: str) -> ToolCall | None:
        """See `BaseTool.find`; the first `<tool_call>`."""
        return next(iter(find_calls(action)), None)

    def tag_marks(self, function: str) -> tuple[str, str]:
        """See `BaseTool.tag_marks`."""
        return f"<tool_call>\n<tool_name>{function}</tool_name>\n<arguments>\n", "\n</arguments>\n</tool_call>"

    def format_output(self, output: str) -> str:
        """See `BaseTool.format_output`; in GEM's format."""
        return f"\n<tool_response>\n{output}\n</tool_response>\n"

    def instruction_string(self) -> str:
        """See `BaseTool.instruction_string`."""
        functions = "\n".join(json.dumps(schema, ensure_ascii=False) for schema in self.functions())
        return (
            "Tools by name: write\n<tool_call>\n<tool_name>the name</tool_name>\n<arguments>\n"
            '{"argument": "value"}\n</arguments>\n</tool_call>\nwith the arguments as JSON; the output comes back '
            f"between <tool_response> and </tool_response>. There are, one a line:\n<tools>\n{functions}\n</tools>"
        )

    def settings(self) -> dict[str, Any]:
        """See `BaseTool.settings`; the servers by name, because commands and headers belong to this machine."""
        settings: dict[str, Any] = {"servers": list(self._connections)} if self._connections else {}
        if self.execution_timeout != TIMEOUT:
            settings["execution_timeout"] = self.execution_timeout
        return settings | ({"fresh": True} if self.fresh else {})

    def close(self) -> None:
        """See `BaseTool.close`."""
        for connection in self._connections.values():
            if not connection.server.shared:
                connection.close()

    def _list_functions(self) -> dict[str, tuple[Connection, str]]:
        """The connection of each function, and its name there; the servers are asked once."""
        if self._functions_by_name is None:
            places: dict[str, tuple[Connection, str]] = {}
            schemas: list[FunctionSchema] = []
            for server, connection in self._connections.items():
                for tool in self._request_tools(connection):
                    name = f"{server}_{tool['name']}" if len(self._connections) > 1 else tool["name"]
                    name = _function_name(name, places)
                    places[name] = connection, tool["name"]
                    parameters = {"properties": {}, **tool["parameters"]}  # OpenAI refuses a function without them
                    fields = {"name": name, "description": tool["description"], "parameters": parameters}
                    schemas.append(FunctionSchema(type="function", function=fields))  # type: ignore[typeddict-item]
            if not self._connections:
                raise ToolError(f"No MCP server is registered: {SERVERS_FILE_VARIABLE} names a file with them.")
            if not places:
                raise ToolError(f"The MCP servers {', '.join(self._connections)} offer no tools.")
            self._schemas = sorted(schemas, key=lambda schema: schema["function"]["name"])
            self._functions_by_name = places
        return self._functions_by_name

    def _request_tools(self, connection: Connection) -> list[dict[str, Any]]:
        """The tools of a server, which is asked up to `max_retries` times."""
        for _ in range(self.max_retries - 1):
            try:
                return connection.tools()
            except ToolError:
                time.sleep(self.delay_between_retries)
        return connection.tools()

    def _validate(self) -> None:
        """Ask the servers for their tools.

        Raises:
            InvalidArgument: if one cannot be reached, or there are no tools.
        """
        try:
            self._list_functions()
        except ToolError as error:
            self.close()
            raise InvalidArgument(f"The MCP servers {', '.join(self._connections)} cannot be used. {error}") from error


def _function_name(name: str, used_names: Container[str]) -> str:
    """A name that OpenAI's interface allows and that is not in use; names in MCP may have dots and be longer."""
    allowed = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:MAX_NAME_CHARS]
    candidates = (allowed, *(f"{allowed[: MAX_NAME_CHARS - 3]}_{number}" for number in range(2, 100)))
    return next((candidate for candidate in candidates if candidate not in used_names), allowed)


def registered(servers: Sequence[str] = (), execution_timeout: float = TIMEOUT, fresh: bool = False) -> MCPTool:
    """The tools of servers in the file that `GEM_MCP_SERVERS` names; of all of them if none is named.

    Records and specifications name servers, and never commands or addresses. A name that is not in the file is an
    error only when the server is used, so that records can be read on any machine.

    Raises:
        InvalidArgument: if the file cannot be read.
    """
    configs = registered_servers()
    selected = [configs.get(name, ServerConfig(name)) for name in servers or configs]
    return MCPTool(selected, execution_timeout=execution_timeout, fresh=fresh)
