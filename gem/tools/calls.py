r"""Calls as models write them: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`, and OpenAI's `tool_calls`.

`find_calls` reads both, and the form of GEM's MCP tool, from the text of an action; `action_of` writes the answer of
an OpenAI-compatible server as such a text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from gem.tools.tags import find_tagged
from gem.tools.tool import ToolCall

_BLOCK = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
"""A block. The closing tag may be missing at the end of the text, because some models stop before they write it."""
_CALL_START = re.compile(r"(?<!\s)\s*+[{<]")

MAX_DEPTH = 32
"""Most levels of lists and objects in arguments, because arguments have to be recorded and sent on."""
MAX_DIGITS = 1000
"""Most digits of a number in a call."""
HELP = 'Write <tool_call>{"name": "...", "arguments": {...}}</tool_call>.'


def find_calls(action: str) -> list[ToolCall]:
    """The calls in an action, in order; a call that cannot be parsed has a `fault`."""
    message_calls = _parse_message(action)
    if message_calls is not None:
        return [_parse_openai_call(call, len(action)) for call in message_calls]
    calls = []
    for block in _BLOCK.finditer(action):
        is_closed = block[0].endswith("</tool_call>")
        if is_closed or _CALL_START.match(block[1]):
            calls.append(_parse_block(block[1], block.end()))
    return calls


def action_of(message: Mapping[str, Any]) -> str:
    """An assistant's message of OpenAI's interface as the text of an action.

    Args:
        message: `choices[0].message` of a chat completion, with `content` and, if functions were called,
            `tool_calls`.
    """
    blocks = []
    for call in message.get("tool_calls") or ():
        function = call.get("function", {})
        arguments = function.get("arguments") or "{}"
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        name = json.dumps(function.get("name", ""), ensure_ascii=False)
        blocks.append(f'<tool_call>{{"name": {name}, "arguments": {text}}}</tool_call>')
    return "\n".join(part for part in (message.get("content") or "", *blocks) if part)


def _parse_message(action: str) -> list[Any] | None:
    """The `tool_calls` of an action that consists of a message in JSON; None for any other action."""
    if not action.lstrip().startswith(("{", "[")):
        return None
    try:
        message = _parse_json(action)
    except (ValueError, RecursionError):
        return None
    calls = message.get("tool_calls") if isinstance(message, dict) else message
    if not isinstance(calls, list) or not all(isinstance(call, dict) and "function" in call for call in calls):
        return None
    return calls or None


def _parse_openai_call(call: Mapping[str, Any], end: int) -> ToolCall:
    function = call["function"]
    if not isinstance(function, dict):
        return ToolCall("", {}, end, f"A call has no function. {HELP}")
    return _make_call(function.get("name"), function.get("arguments"), end)


def _parse_block(text: str, end: int) -> ToolCall:
    name = find_tagged(text, "<tool_name>", "</tool_name>")
    if name and not text[: name.start].strip():
        arguments = find_tagged(text, "<arguments>", "</arguments>", name.end)
        return _make_call(name.text.strip(), arguments and arguments.text, end)
    try:
        call = _parse_json(text)
    except (ValueError, RecursionError) as error:
        return ToolCall("", {}, end, f"The call is not JSON: {_describe(error)}. {HELP}")
    if not isinstance(call, dict):
        return ToolCall("", {}, end, f"The call is no JSON object. {HELP}")
    return _make_call(call.get("name"), call.get("arguments", call.get("parameters")), end)


def _make_call(name: object, arguments: object, end: int) -> ToolCall:
    """A call from its parts, with a fault if they have the wrong type."""
    if not isinstance(name, str) or not name:
        return ToolCall("", {}, end, f"The call has no name. {HELP}")
    if isinstance(arguments, str):
        try:
            arguments = _parse_json(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError) as error:
            return ToolCall(name, {}, end, f"The arguments of {name} are not JSON: {_describe(error)}. {HELP}")
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        return ToolCall(name, {}, end, f"The arguments of {name} are no JSON object. {HELP}")
    if _is_too_deep(arguments):
        return ToolCall(name, {}, end, f"The arguments of {name} are nested too deeply.")
    return ToolCall(name, arguments, end)


def _describe(error: Exception) -> str:
    return str(error) or "it is nested too deeply"


def _parse_json(text: str) -> Any:
    """The value of standard JSON, which has no NaN and no infinity.

    Raises:
        ValueError, RecursionError: if it is something else.
    """
    return json.loads(text, parse_constant=_refuse_constant, parse_float=_parse_float, parse_int=_parse_int)


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _parse_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number


def _parse_int(text: str) -> int:
    """An integer of at most `MAX_DIGITS` digits, whatever limit other libraries have set for this process."""
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number has {len(text):,} digits")
    return int(text)


def _is_too_deep(value: Any) -> bool:
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        items = (item for container in level for item in _items(container))
        level = [item for item in items if isinstance(item, dict | list)]
        if not level:
            return False
    return True


def _items(container: Any) -> Any:
    return container.values() if isinstance(container, dict) else container
