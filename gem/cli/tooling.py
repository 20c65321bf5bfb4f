"""What `gemweb eval` and `gemweb play` take to let an agent, or you, use tools between actions."""

from __future__ import annotations

import argparse
from typing import Any


def arguments(parser: argparse.ArgumentParser) -> None:
    """The tools and their budget, in a group of their own."""
    group = parser.add_argument_group("tools, in any environment with one seat")
    group.add_argument(
        "--tool", action="append", metavar="NAME", help="python, search:INDEX or mcp:SERVER; may be given several times"
    )
    group.add_argument("--tool-uses", type=int, metavar="N", help="in an episode, on top of its turn limit (10)")
    group.add_argument("--tool-format", choices=["tags", "native"], help="by the tags of each tool, or as functions")


def fields(tool: list[str] | None, tool_uses: int | None, tool_format: str | None) -> dict[str, Any]:
    """The same under the names that `gem.evaluation.spec.EvaluationSpec` has for them; what was not given is None.

    Raises:
        UsageError: if there is a budget or a format without a tool, or a tool cannot be used on this machine.
    """
    from gem.errors import UsageError  # noqa: PLC0415 (a quick start)
    from gem.tools.tool_catalog import check_usable  # noqa: PLC0415 (as above)

    if not tool and (tool_uses is not None or tool_format is not None):
        raise UsageError("--tool-uses and --tool-format belong to tools: name one with --tool.")
    check_usable(tool or [])
    return {"tools": tool, "max_tool_uses": tool_uses, "tool_format": tool_format}
