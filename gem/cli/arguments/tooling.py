"""The arguments of `gemweb eval` and `gemweb play` that let the agent or the player use tools between actions."""

from __future__ import annotations

import argparse
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add a group with the tools and their budget."""
    group = parser.add_argument_group("tools, in any environment with one seat")
    group.add_argument(
        "--tool", action="append", metavar="NAME", help="python, search:INDEX or mcp:SERVER; may be given several times"
    )
    group.add_argument("--tool-uses", type=int, metavar="N", help="uses in an episode, beyond its turn limit (10)")
    group.add_argument("--tool-format", choices=["tags", "native"], help="use tools by their tags, or as functions")


def spec_fields(tool: list[str] | None, tool_uses: int | None, tool_format: str | None) -> dict[str, Any]:
    """Return the fields of `gem.evaluation.spec.EvaluationSpec` that the options set, with None for missing options.

    Raises:
        UsageError: if there is a budget or a format without a tool, or a tool cannot be used on this machine.
    """
    from gem.errors import UsageError  # noqa: PLC0415 (the other commands start faster without it)
    from gem.tools.tool_catalog import check_usable  # noqa: PLC0415 (as above)

    if not tool and (tool_uses is not None or tool_format is not None):
        raise UsageError("--tool-uses and --tool-format belong to tools: name one with --tool.")
    check_usable(tool or [])
    return {"tools": tool, "max_tool_uses": tool_uses, "tool_format": tool_format}
