"""Native tool calls: the action and the environment's tools as functions, and function calls as actions."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from gem.agents.endpoint.completion import FunctionCall
from gem.core import Env

ACT = "act"
"""The name of the function that takes the turn."""
CALL_END = "</tool_call>"
_BLOCK = re.compile(rf"<tool_call>(.*?){CALL_END}", re.DOTALL)


def functions_of(env: Env) -> list[dict[str, Any]]:
    """Return the functions that the model may call in this environment: `act`, and those in `env.tool_schemas`."""
    act = {
        "name": ACT,
        "description": "Take your turn. Send the action exactly as the instructions ask for it.",
        "parameters": {
            "type": "object",
            "properties": {"action": {"type": "string", "description": "The whole text of the action."}},
            "required": ["action"],
            "additionalProperties": False,
        },
    }
    return [{"type": "function", "function": act}, *getattr(env, "tool_schemas", ())]


def action_of(calls: Sequence[FunctionCall]) -> str:
    """Return the action that the calls of a completion stand for.

    The first call of `act` is the action, and other calls in the same completion are dropped, because a turn has one
    action. Without it, the action has all tool calls in the form that environments parse (see `gem.tools`); the
    environment answers them together.
    """
    for call in calls:
        if call.name == ACT:
            action = call.parse_arguments().get("action", "")
            is_json = isinstance(action, dict | list)  # some models send the object itself, not its text
            return json.dumps(action, ensure_ascii=False) if is_json else str(action)
    return "\n".join(
        f'<tool_call>{{"name": {json.dumps(call.name)}, "arguments": {json.dumps(call.parse_arguments())}}}</tool_call>'
        for call in calls
    )


def calls_of(action: str) -> list[dict[str, Any]]:
    """Return the function calls that an earlier action came from, for the history in a request."""
    end = action.rfind(CALL_END) + len(CALL_END)  # a block that never ends would be searched to the end of the text
    parsed_calls = [_parse_call(block) for block in _BLOCK.findall(action, 0, end)]
    calls = [call for call in parsed_calls if call is not None] or [(ACT, {"action": action})]
    return [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in calls]


def _parse_call(block: str) -> tuple[str, Any] | None:
    try:
        data = json.loads(block)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not isinstance(data.get("name"), str):
        return None
    return data["name"], data.get("arguments", {})
