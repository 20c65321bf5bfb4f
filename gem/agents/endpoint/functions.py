"""Native tool calls: the action and the environment's tools as functions, and calls as the text of an action."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from gem.agents.endpoint.answer import Call
from gem.core import Env

ACT = "act"
"""The function that takes the turn."""
_BLOCK = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


def functions_of(env: Env) -> list[dict[str, Any]]:
    """What a server may call in this environment, as it lists tools: `act`, and what `env.tool_schemas` describes."""
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


def action_of(calls: Sequence[Call]) -> str:
    """The text that an answer's calls stand for.

    A call of `act` takes the turn; what was called before it in the same answer is dropped, because a turn is one
    action. Calls of tools are written as environments read them (see `gem.tools`), and answered together.
    """
    for call in calls:
        if call.name == ACT:
            return str(call.parsed().get("action", ""))
    return "\n".join(
        f'<tool_call>{{"name": {json.dumps(call.name)}, "arguments": {json.dumps(call.parsed())}}}</tool_call>'
        for call in calls
    )


def calls_of(action: str) -> list[dict[str, Any]]:
    """The function calls that an action was, for the history that the server reads again."""
    found = [_read(block) for block in _BLOCK.findall(action)]
    calls = [one for one in found if one is not None] or [(ACT, {"action": action})]
    return [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in calls]


def _read(block: str) -> tuple[str, Any] | None:
    try:
        data = json.loads(block)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not isinstance(data.get("name"), str):
        return None
    return data["name"], data.get("arguments", {})
