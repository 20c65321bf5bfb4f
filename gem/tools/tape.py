"""What a record says that tools gave in one turn: replay reads it instead of using the tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem.tools.prompts import NOT_RECORDED
from gem.tools.tool import Used


class Tape:
    """The tool calls of one turn, as `info["tool_calls"]` of its record has them.

    A record may have been written by anybody: what it has no place for is not there, and nothing is raised.

    Args:
        recorded: the info of the turn, or of the reset.
        repeat: whether tools that always give the same are to be asked again.
    """

    def __init__(self, recorded: Mapping[str, Any], *, repeat: bool) -> None:
        self.repeat = repeat
        told = recorded.get("tool_instructions")
        self.instructions = told if isinstance(told, str) else None
        """What agents were told at the beginning, where the tools' descriptions come from outside."""
        calls = recorded.get("tool_calls")
        self._calls = [one for one in calls if isinstance(one, dict)] if isinstance(calls, list) else []

    def next(self, function: str, arguments: dict[str, Any]) -> Used:
        """The next recorded call, if it is this one; one that says so if it is not."""
        one = self._calls.pop(0) if self._calls else {}
        if one.get("function") != function or one.get("arguments") != arguments:
            return Used("", function, arguments, NOT_RECORDED, error=True, seconds=0.0)
        return _used(one)

    def taken_by(self, tool: str) -> Used | None:
        """The next recorded call if this tool answered it: for tools whose calls nobody else can find."""
        if not self._calls or self._calls[0].get("tool") != tool:
            return None
        return _used(self._calls.pop(0))


def _used(one: Mapping[str, Any]) -> Used:
    arguments, details = one.get("arguments"), one.get("details")
    seconds = one.get("seconds")
    return Used(
        tool=str(one.get("tool", "")),
        function=str(one.get("function", "")),
        arguments=arguments if isinstance(arguments, dict) else {},
        output=str(one.get("output", "")),
        error=bool(one.get("error")),
        seconds=seconds if isinstance(seconds, int | float) else 0.0,
        details=details if isinstance(details, dict) else {},
    )
