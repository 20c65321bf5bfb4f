"""Native tool calls: the environment's action and tools as functions, and a call as the text of an action."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gem.core import Env

ACT = "act"
"""The function that takes the turn."""


def functions_of(env: Env) -> list[dict[str, Any]]:
    """What a server may call in this environment, as it lists tools.

    An environment offers more than `act` by having `functions`: a sequence of objects with `name`, `description`,
    `parameters` (a JSON schema) and `as_action(arguments) -> str`.
    """
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
    others = [{"name": one.name, "description": one.description, "parameters": one.parameters} for one in _offered(env)]
    return [{"type": "function", "function": function} for function in (act, *others)]


def action_of(env: Env, name: str, arguments: dict[str, Any]) -> str:
    """The text that a call stands for; a call of what was not offered becomes an action that cannot be read."""
    if name == ACT:
        return str(arguments.get("action", ""))
    for one in _offered(env):
        if one.name == name:
            return str(one.as_action(arguments))
    return f"{name}({arguments})"


def _offered(env: Env) -> Sequence[Any]:
    found: Sequence[Any] = getattr(env, "functions", ())
    return found
