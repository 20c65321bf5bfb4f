"""JSON-RPC at the `/mcp` of an OpenEnv server: an agent that only knows tools plays with `take_turn`.

OpenEnv's own clients send `tools/list` and `tools/call`, and over HTTP `openenv/session/create` and `.../close`, which
the server itself answers. It does not know `initialize`; a real MCP server is another address.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32600, -32601, -32602
CREATE, CLOSE = "openenv/session/create", "openenv/session/close"
TAKE_TURN, BEGIN = "take_turn", "begin_episode"
TOOLS: list[dict[str, Any]] = [
    {
        "name": BEGIN,
        "description": "Begin an episode. Without a seed, one is drawn. Returns what there is to read.",
        "input_schema": {
            "type": "object",
            "properties": {"seed": {"type": "integer", "minimum": 0}},
            "required": [],
        },
    },
    {
        "name": TAKE_TURN,
        "description": "Take a turn with a text that contains the action. Returns what there is to read.",
        "input_schema": {
            "type": "object",
            "properties": {"message": {"type": "string", "description": "the text that contains the action"}},
            "required": ["message"],
        },
    },
]
"""The tools; none has a name that OpenEnv reserves (reset, step, state, close)."""


class RpcError(Exception):
    """An error of JSON-RPC."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class Rpc(NamedTuple):
    """A request."""

    method: str
    params: dict[str, Any]
    request_id: str | int | None


def read_request(message: object) -> Rpc:
    """A request of JSON-RPC.

    Raises:
        RpcError: if it is not one.
    """
    if not isinstance(message, Mapping) or message.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, 'A request is an object with "jsonrpc": "2.0" and a method.')
    method, params, request_id = message.get("method"), message.get("params", {}), message.get("id")
    if not isinstance(method, str):
        raise RpcError(INVALID_REQUEST, "A request has a method, a text.")
    if not isinstance(params, dict):
        raise RpcError(INVALID_PARAMS, "The params of a request are an object.")
    return Rpc(method, params, request_id if isinstance(request_id, str | int) else None)


def listing() -> dict[str, Any]:
    """The result of `tools/list`, with the schema under the names of MCP and of OpenEnv."""
    return {"tools": [{**tool, "inputSchema": tool["input_schema"]} for tool in TOOLS]}


def call_of(params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name and the arguments of a `tools/call`.

    Raises:
        RpcError: if there is no such tool, or the arguments are no object.
    """
    name, arguments = params.get("name"), params.get("arguments") or {}
    if name not in (TAKE_TURN, BEGIN):
        raise RpcError(INVALID_PARAMS, f"There is no tool {name!r:.80}; there is {BEGIN} and {TAKE_TURN}.")
    if not isinstance(arguments, dict):
        raise RpcError(INVALID_PARAMS, "The arguments of a call are an object.")
    return str(name), arguments


def content(text: str, data: Mapping[str, Any] | None, *, is_error: bool = False) -> dict[str, Any]:
    """The result of a call, with the structured content under the names of MCP and of OpenEnv."""
    return {
        "content": [{"type": "text", "text": text}],
        "structured_content": data,
        "structuredContent": data,
        "is_error": is_error,
        "isError": is_error,
    }


def result(request_id: str | int | None, value: Any) -> dict[str, Any]:
    """An answer to a request."""
    return {"jsonrpc": "2.0", "id": request_id, "result": value}


def failure(request_id: str | int | None, error: RpcError) -> dict[str, Any]:
    """An error as an answer."""
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": error.code, "message": error.message}}
