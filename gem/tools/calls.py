r"""Calls as models write them: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`, and OpenAI's `tool_calls`.

`find_calls` reads both, and the form of GEM's MCP tool, from the text of an action; `action_of` writes what an
OpenAI-compatible server answered as such a text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from gem.tools.tags import between
from gem.tools.tool import Call

_BLOCK = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
"""A block that the text ends in counts as well: a model that stops at the closing tag does not write it."""
_OPENED = re.compile(r"\s*[{<]")

DEEPEST = 32
"""Levels of lists and objects that arguments may have: they have to be recorded, and sent on."""
LONGEST_NUMBER = 1000
"""Digits of a number in a call."""
HELP = 'Write <tool_call>{"name": "...", "arguments": {...}}</tool_call>.'


def find_calls(action: str) -> list[Call]:
    """The calls in an action, in their order; one that cannot be understood has a `fault`."""
    message = _message(action)
    if message is not None:
        return [_of_openai(one, len(action)) for one in message]
    found = []
    for block in _BLOCK.finditer(action):
        closed = block[0].endswith("</tool_call>")
        if closed or _OPENED.match(block[1]):
            found.append(_of_block(block[1], block.end()))
    return found


def action_of(message: Mapping[str, Any]) -> str:
    """An assistant's message of OpenAI's interface as the text of an action.

    Args:
        message: `choices[0].message` of a chat completion, with `content` and, where functions were called,
            `tool_calls`.
    """
    calls = []
    for one in message.get("tool_calls") or ():
        function = one.get("function", {})
        arguments = function.get("arguments") or "{}"
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        name = json.dumps(function.get("name", ""), ensure_ascii=False)
        calls.append(f'<tool_call>{{"name": {name}, "arguments": {text}}}</tool_call>')
    return "\n".join(part for part in (message.get("content") or "", *calls) if part)


def _message(action: str) -> list[Any] | None:
    """The `tool_calls` of an action that is nothing but a message in JSON."""
    if not action.lstrip().startswith(("{", "[")):
        return None
    try:
        read = _loads(action)
    except (ValueError, RecursionError):
        return None
    calls = read.get("tool_calls") if isinstance(read, dict) else read
    if not isinstance(calls, list) or not all(isinstance(one, dict) and "function" in one for one in calls):
        return None
    return calls or None


def _of_openai(one: Mapping[str, Any], end: int) -> Call:
    function = one["function"]
    if not isinstance(function, dict):
        return Call("", {}, end, f"A call has no function. {HELP}")
    return _call(function.get("name"), function.get("arguments"), end)


def _of_block(text: str, end: int) -> Call:
    name = between(text, "<tool_name>", "</tool_name>")
    if name and not text[: name.start].strip():
        arguments = between(text, "<arguments>", "</arguments>", name.end)
        return _call(name.text.strip(), arguments and arguments.text, end)
    try:
        read = _loads(text)
    except (ValueError, RecursionError) as error:
        return Call("", {}, end, f"The call is not JSON: {_said(error)}. {HELP}")
    if not isinstance(read, dict):
        return Call("", {}, end, f"The call is no JSON object. {HELP}")
    return _call(read.get("name"), read.get("arguments", read.get("parameters")), end)


def _call(name: object, arguments: object, end: int) -> Call:
    if not isinstance(name, str) or not name:
        return Call("", {}, end, f"The call has no name. {HELP}")
    if isinstance(arguments, str):
        try:
            arguments = _loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError) as error:
            return Call(name, {}, end, f"The arguments of {name} are not JSON: {_said(error)}. {HELP}")
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        return Call(name, {}, end, f"The arguments of {name} are no JSON object. {HELP}")
    if _is_deep(arguments):
        return Call(name, {}, end, f"The arguments of {name} are nested too deeply.")
    return Call(name, arguments, end)


def _said(error: Exception) -> str:
    return str(error) or "it is nested too deeply"


def _loads(text: str) -> Any:
    """JSON as the standard has it: no number that is none.

    Raises:
        ValueError, RecursionError: if it is something else.
    """
    return json.loads(text, parse_constant=_refuse, parse_float=_finite, parse_int=_whole)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number


def _is_deep(value: Any) -> bool:
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        inside = (inner for one in level for inner in (one.values() if isinstance(one, dict) else one))
        level = [inner for inner in inside if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def _whole(text: str) -> int:
    """A whole number of a sane length, whatever limit other libraries have set for this process."""
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"a number has {len(text):,} digits")
    return int(text)
