"""The texts about tools that agents read, in addition to each tool's own instructions."""

from __future__ import annotations

import json
from collections.abc import Sequence

from gem.tools.schema import FunctionSchema
from gem.tools.tool import BaseTool

LAST_USE = "That was the last use of a tool in this episode. Act now, or give your final answer."
NOT_RUN = "Not carried out: no more uses of tools were left."
NOT_RECORDED = "[The record of this episode does not say what came from outside here.]"

_HEADING = "You may use tools before you act. A message that uses a tool is not an action."
_NATIVE = (
    'To call one, write <tool_call>{"name": "...", "arguments": {...}}</tool_call> with the name of a function and its '
    "arguments as JSON; the output comes back in <tool_response> ... </tool_response>. The functions, one a line:"
)


def instructions(tools: Sequence[BaseTool], schemas: Sequence[FunctionSchema], limit: int | None) -> str:
    """The text that follows the environment's own instructions.

    Args:
        schemas: the functions, if tools are called as functions; empty if each tool has its own tags.
        limit: how often tools may be used in an episode; None for any number.
    """
    uses = "" if limit is None else f" Tools may be used {limit} time{'' if limit == 1 else 's'} in an episode."
    if schemas:
        functions = "\n".join(json.dumps(schema, ensure_ascii=False) for schema in schemas)
        return f"{_HEADING}{uses} {_NATIVE}\n<tools>\n{functions}\n</tools>"
    return "\n".join([f"{_HEADING}{uses}", *(tool.instruction_string() for tool in tools)])


def unknown_function(name: str, schemas: Sequence[FunctionSchema]) -> str:
    """The answer to a call of a function that does not exist."""
    names = ", ".join(schema["function"]["name"] for schema in schemas)
    return f"There is no function {name!r:.80}; there is {names}."


def tool_failure(name: str, error: Exception) -> str:
    """The answer to a call in which the tool raised an unexpected exception."""
    return f"The tool {name} broke: {type(error).__name__}: {error}"
