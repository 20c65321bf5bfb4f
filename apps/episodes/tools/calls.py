"""The tool calls of a turn as a page shows them: what went in, what came out, how long it took."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gem.views.ansi import plain

LINES = 20
CHARACTERS = 4000
"""An output longer than one of these is folded behind its beginning."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call."""

    name: str
    """The tool, or the function that was called."""
    given: str
    output: str
    """All of a short output, the beginning of a long one."""
    folded: str
    """The rest of a long one."""
    error: bool
    seconds: float | None
    sandboxed: bool

    @property
    def lines_in(self) -> int:
        """How many lines went in."""
        return _lines(self.given)

    @property
    def lines_out(self) -> int:
        """How many lines came out."""
        return _lines(self.output) + _lines(self.folded)

    @property
    def lines_folded(self) -> int:
        """How many lines are folded away."""
        return _lines(self.folded)


def tool_calls(info: Mapping[str, Any]) -> list[ToolCall]:
    """The calls that the info of a turn speaks of; entries of another shape are left out."""
    calls = info.get("tool_calls")
    return [_read(one) for one in calls if isinstance(one, dict)] if isinstance(calls, list) else []


def _read(one: Mapping[str, Any]) -> ToolCall:
    output = plain(str(one.get("output", "")))
    shown = _beginning(output)
    seconds, details = one.get("seconds"), one.get("details")
    return ToolCall(
        name=plain(str(one.get("function") or one.get("tool") or "unknown")),
        given=plain(_given(one.get("arguments"))),
        output=output[:shown].rstrip("\n"),
        folded=output[shown:].strip("\n"),
        error=bool(one.get("error")),
        seconds=float(seconds) if isinstance(seconds, int | float) else None,
        sandboxed=isinstance(details, dict) and "sandbox" in details,
    )


def _given(arguments: Any) -> str:
    """The arguments: a single text as it is, everything else as JSON."""
    values = list(arguments.values()) if isinstance(arguments, dict) else []
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return json.dumps(arguments, ensure_ascii=False, indent=2)


def _beginning(text: str) -> int:
    """How many characters of a text are shown at once; a little more is not worth folding."""
    if len(text) <= CHARACTERS + CHARACTERS // 4 and _lines(text) <= LINES + LINES // 4:
        return len(text)
    end = sum(len(line) for line in text.splitlines(keepends=True)[:LINES])
    return min(end, CHARACTERS)


def _lines(text: str) -> int:
    return text.rstrip("\n").count("\n") + 1 if text else 0
