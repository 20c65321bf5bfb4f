"""What agents are told about tools, besides what each tool says of itself."""

from __future__ import annotations

import json
from collections.abc import Sequence

from gem.tools.schema import Function
from gem.tools.tool import BaseTool

LAST_USE = "That was the last use of a tool in this episode. Act now, or give your final answer."
NOT_RUN = "Not carried out: no more uses of tools were left."
NOT_RECORDED = "[The record of this episode does not say what came from outside here.]"

_HEADING = "You may use tools before you act. A message that uses a tool is not an action."
_NATIVE = (
    'To call one, write <tool_call>{"name": "...", "arguments": {...}}</tool_call> with the name of a function and its '
    "arguments as JSON; the output comes back in <tool_response> ... </tool_response>. The functions, one a line:"
)


def instructions(tools: Sequence[BaseTool], schemas: Sequence[Function], limit: int | None) -> str:
    """What stands after the environment's own instructions.

    Args:
        schemas: the functions, where they are called as such; empty where each tool has its own tags.
        limit: how many uses an episode has, if there is a limit.
    """
    uses = "" if limit is None else f" Tools may be used {limit} time{'' if limit == 1 else 's'} in an episode."
    if schemas:
        functions = "\n".join(json.dumps(one, ensure_ascii=False) for one in schemas)
        return f"{_HEADING}{uses} {_NATIVE}\n<tools>\n{functions}\n</tools>"
    return "\n".join([f"{_HEADING}{uses}", *(tool.instruction_string() for tool in tools)])


def unknown(name: str, schemas: Sequence[Function]) -> str:
    """What is said to a call of a function that there is not."""
    names = ", ".join(one["function"]["name"] for one in schemas)
    return f"There is no function {name!r:.80}; there is {names}."


def broke(name: str, error: Exception) -> str:
    """What is said when a tool raised what no tool should."""
    return f"The tool {name} broke: {type(error).__name__}: {error}"
