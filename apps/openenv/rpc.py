"""JSON-RPC of a session: the tools with which an agent plays."""

from __future__ import annotations

from typing import Any

from apps.openenv.sessions import PlaySession
from gem.openenv import tools
from gem.openenv.wire import Call, WireError


async def answer_rpc(session: PlaySession, message: object) -> dict[str, Any]:
    """The answer to a request; its errors are answers too."""
    request_id: str | int | None = None
    try:
        request = tools.read_request(message)
        request_id = request.request_id
        if request.method == "tools/list":
            return tools.result(request_id, tools.listing())
        if request.method != "tools/call":
            raise tools.RpcError(tools.METHOD_NOT_FOUND, f"There is no method {request.method!r:.80} here.")
        name, arguments = tools.call_of(request.params)
        return tools.result(request_id, await _call(session, name, arguments))
    except tools.RpcError as error:
        return tools.failure(request_id, error)


async def _call(session: PlaySession, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The result of a tool; what the environment refuses is a result for the agent to read."""
    try:
        turn = await session.step(Call(name, arguments))
    except WireError as error:
        return tools.content(error.message, None, is_error=True)
    assert isinstance(turn, dict)
    result: dict[str, Any] = turn["observation"]["result"]
    result["structuredContent"] = result["structured_content"] = {
        **result["structuredContent"],
        "reward": turn["reward"],
        "done": turn["done"],
    }
    return result
