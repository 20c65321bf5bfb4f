"""The tool calls of a turn as a page shows them: input, output and duration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gem.views.ansi import plain

MAX_LINES = 20
MAX_CHARACTERS = 4000
"""Of an output that exceeds one of these limits, only the beginning is shown at first."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call."""

    name: str
    """The name of the tool or function that was called."""
    input: str
    output: str
    """A short output, or the beginning of a long one."""
    folded: str
    """The rest of a long output."""
    error: bool
    seconds: float | None
    sandboxed: bool

    @property
    def lines_in(self) -> int:
        """The number of input lines."""
        return _lines(self.input)

    @property
    def lines_out(self) -> int:
        """The number of output lines."""
        return _lines(self.output) + _lines(self.folded)

    @property
    def lines_folded(self) -> int:
        """The number of folded output lines."""
        return _lines(self.folded)


def tool_calls(info: Mapping[str, Any]) -> list[ToolCall]:
    """The tool calls in the info of a turn. Malformed entries are ignored."""
    calls = info.get("tool_calls")
    return [_read(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _read(call: Mapping[str, Any]) -> ToolCall:
    output = plain(str(call.get("output", "")))
    length = _beginning(output)
    seconds, details = call.get("seconds"), call.get("details")
    return ToolCall(
        name=plain(str(call.get("function") or call.get("tool") or "unknown")),
        input=plain(_format_arguments(call.get("arguments"))),
        output=output[:length].rstrip("\n"),
        folded=output[length:].strip("\n"),
        error=bool(call.get("error")),
        seconds=float(seconds) if isinstance(seconds, int | float) else None,
        sandboxed=isinstance(details, dict) and "sandbox" in details,
    )


def _format_arguments(arguments: Any) -> str:
    """The arguments: a single string as it is, everything else as JSON."""
    values = list(arguments.values()) if isinstance(arguments, dict) else []
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return json.dumps(arguments, ensure_ascii=False, indent=2)


def _beginning(text: str) -> int:
    """The number of characters shown before the fold. An output that is only slightly longer is not folded."""
    if len(text) <= MAX_CHARACTERS + MAX_CHARACTERS // 4 and _lines(text) <= MAX_LINES + MAX_LINES // 4:
        return len(text)
    end = sum(len(line) for line in text.splitlines(keepends=True)[:MAX_LINES])
    return min(end, MAX_CHARACTERS)


def _lines(text: str) -> int:
    return text.rstrip("\n").count("\n") + 1 if text else 0
