"""Tools by name, as command lines, job specifications and recorded episodes write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from gem.errors import InvalidArgument
from gem.tools.tool import BaseTool
from gem.validation.arguments import check_arguments
from gem.validation.near import did_you_mean

Described = str | Mapping[str, Any] | BaseTool
"""A tool, its name, or its name and arguments: `{"name": "search", "index": "wiki"}`."""

TOOLS: dict[str, str | Callable[..., BaseTool]] = {
    "python": "gem.tools.python_code_tool:PythonCodeTool",
    "search": "gem.tools.search_tool:SearchTool",
    "mcp": "gem.tools.mcp_tool:registered",
}
"""Name to `module:factory`, imported when one is made, or to the class or function itself."""


def register_tool(name: str, factory: str | Callable[..., BaseTool]) -> None:
    """Make `tools=["name"]` mean this tool, also in records that are replayed.

    Raises:
        InvalidArgument: if another tool has the name.
    """
    if TOOLS.get(name, factory) != factory:
        raise InvalidArgument(f"There is a tool {name!r} already; choose another name.")
    TOOLS[name] = factory


def make_tool(described: Described) -> BaseTool:
    """The tool described as plain data; a tool is returned as it is.

    Raises:
        InvalidArgument: on an unknown name or argument; the nearest is named.
    """
    if isinstance(described, BaseTool):
        return described
    arguments: dict[str, Any] = {"name": described} if isinstance(described, str) else dict(described)
    name = arguments.pop("name", "")
    factory = _find(name)
    check_arguments(factory, arguments, f"The tool {name}")
    return factory(**arguments)


def describe_tool(tool: BaseTool) -> dict[str, Any] | BaseTool:
    """What `make_tool` makes the same tool from; the tool itself if its class has no name in `TOOLS`."""
    factory = TOOLS.get(tool.name)
    named = factory.partition(":")[0] == type(tool).__module__ if isinstance(factory, str) else factory is type(tool)
    return {"name": tool.name, **tool.settings()} if named else tool


def _find(name: object) -> Callable[..., BaseTool]:
    found = TOOLS.get(name) if isinstance(name, str) else None
    if found is None:
        raise InvalidArgument(f"There is no tool {name!r}. {did_you_mean(str(name), TOOLS)}")
    if not isinstance(found, str):
        return found
    module, _, attribute = found.partition(":")
    factory: Callable[..., BaseTool] = getattr(import_module(module), attribute)
    return factory
