"""The recorded tool calls of one turn, which a replay reads instead of using the tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem.tools.prompts import NOT_RECORDED
from gem.tools.tool import ToolUse


class Tape:
    """The tool calls of one turn, from `info["tool_calls"]` of its record.

    Records may come from anybody: entries of another form are ignored, and nothing is raised.

    Args:
        recorded: the info of the turn, or of the reset.
        repeat: whether to use repeatable tools again, to verify the record.
    """

    def __init__(self, recorded: Mapping[str, Any], *, repeat: bool) -> None:
        self.repeat = repeat
        instructions = recorded.get("tool_instructions")
        self.instructions = instructions if isinstance(instructions, str) else None
        """The instructions at the beginning of the episode, if the tools' descriptions come from outside."""
        calls = recorded.get("tool_calls")
        self._calls = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []

    def next(self, function: str, arguments: dict[str, Any]) -> ToolUse:
        """The next recorded call if it is this one; otherwise a call whose output is that it was not recorded."""
        call = self._calls.pop(0) if self._calls else {}
        if call.get("function") != function or call.get("arguments") != arguments:
            return ToolUse("", function, arguments, NOT_RECORDED, error=True, seconds=0.0)
        return _read_use(call)

    def next_of_tool(self, tool: str) -> ToolUse | None:
        """The next recorded call if this tool carried it out; for tools whose calls only they themselves can find."""
        if not self._calls or self._calls[0].get("tool") != tool:
            return None
        return _read_use(self._calls.pop(0))


def _read_use(call: Mapping[str, Any]) -> ToolUse:
    arguments, details = call.get("arguments"), call.get("details")
    seconds = call.get("seconds")
    return ToolUse(
        tool=str(call.get("tool", "")),
        function=str(call.get("function", "")),
        arguments=arguments if isinstance(arguments, dict) else {},
        output=str(call.get("output", "")),
        error=bool(call.get("error")),
        seconds=seconds if isinstance(seconds, int | float) else 0.0,
        details=details if isinstance(details, dict) else {},
    )
