"""Tools by name, as command lines, job specifications and recorded episodes name them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from gem.errors import InvalidArgument
from gem.tools.tool import BaseTool, is_opaque
from gem.validation.arguments import check_arguments, check_numbers
from gem.validation.near import did_you_mean

ToolSpec = str | Mapping[str, Any] | BaseTool
"""A tool, its name, or its name and arguments: `{"name": "search", "index": "wiki"}`."""

TOOLS: dict[str, str | Callable[..., BaseTool]] = {
    "python": "gem.tools.python_code_tool:PythonCodeTool",
    "search": "gem.tools.search_tool:SearchTool",
    "mcp": "gem.tools.mcp_tool:registered",
}
"""Factories by name: a class or function, or its `module:name`, which is imported when a tool is made."""


def register_tool(name: str, factory: str | Callable[..., BaseTool]) -> None:
    """Give a tool a name for `tools=["name"]` and for records that are replayed.

    Raises:
        InvalidArgument: if another tool has the name, if the class of the tool has another one, or if `factory` is a
            tool and not what makes one.
    """
    if isinstance(factory, BaseTool):
        raise InvalidArgument(
            f"Register the class of the tool, which makes one for each environment: "
            f"register_tool({name!r:.60}, {type(factory).__name__})."
        )
    if TOOLS.get(name, factory) != factory:
        raise InvalidArgument(f"There is a tool {name!r} already; choose another name.")
    own_name = getattr(factory, "name", "")
    if own_name and own_name != name:
        raise InvalidArgument(
            f"The tool that is registered as {name!r:.60} calls itself {own_name!r:.60}, the name that agents use and "
            "records have: register it under that."
        )
    TOOLS[name] = factory


def make_tool(spec: ToolSpec) -> BaseTool:
    """Make the tool that plain data specify; a tool is returned as it is.

    Raises:
        InvalidArgument: on an unknown name or argument, with the nearest one in the message.
    """
    if isinstance(spec, BaseTool):
        return spec
    if not isinstance(spec, str | Mapping):
        hint = f" Make one of the class: {spec.__name__}()." if isinstance(spec, type) else ""
        raise InvalidArgument(
            "A tool is a name such as 'python', a dictionary with its name, or an object of a class that derives from "
            f"gem.tools.BaseTool, not {spec!r:.60}.{hint}"
        )
    arguments: dict[str, Any] = {"name": spec} if isinstance(spec, str) else dict(spec)
    name = arguments.pop("name", "")
    factory = _find_factory(name)
    check_arguments(factory, arguments, f"The tool {name}")
    check_numbers(factory, arguments)
    return factory(**arguments)


def describe_tool(tool: BaseTool) -> dict[str, Any] | BaseTool:
    """The plain data from which `make_tool` makes the same tool; the tool itself if its class is not in `TOOLS`."""
    factory = TOOLS.get(tool.name)
    if isinstance(factory, str):
        is_registered = factory.partition(":")[0] == type(tool).__module__
    else:
        is_registered = factory is type(tool)
    return {"name": tool.name, **tool.settings()} if is_registered else tool


def check_tools(tools: Sequence[BaseTool], form: str, seats: int) -> None:
    """Check that an environment with so many seats can have these tools, called in this format.

    Raises:
        InvalidArgument: if it cannot.
    """
    names = [tool.label for tool in tools]
    for tool in tools:
        if not tool.label:
            raise InvalidArgument(
                f'The tool {type(tool).__name__} has no name, between whose tags agents could call it: name = "count".'
            )
        if inspect.iscoroutinefunction(tool.run):
            raise InvalidArgument(
                f"run of the tool {tool.label} is a coroutine, for which nobody waits: define it without async. "
                "Environments that wait for tools are stepped in threads."
            )
    if not tools or len(set(names)) != len(names):
        raise InvalidArgument(f"Give at least one tool, and each once; these are {', '.join(names) or 'none'}.")
    if seats > 1:
        raise InvalidArgument(
            "Tools are used from one seat: fill the others first, with gem.make(..., opponent=...) or the wrapper "
            "opponent."
        )
    if form not in ("tags", "native"):
        raise InvalidArgument(f"The format of tool calls is 'tags' or 'native', not {form!r}.")
    opaque = [name for name, tool in zip(names, tools, strict=True) if is_opaque(tool)]
    if form == "native" and opaque:
        raise InvalidArgument(f"The tool {opaque[0]} has GEM's interface only, so that it is used with format='tags'.")


def _find_factory(name: object) -> Callable[..., BaseTool]:
    factory = TOOLS.get(name) if isinstance(name, str) else None
    if factory is None:
        raise InvalidArgument(f"There is no tool {name!r}. {did_you_mean(str(name), TOOLS)}")
    if not isinstance(factory, str):
        return factory
    module, _, attribute = factory.partition(":")
    loaded: Callable[..., BaseTool] = getattr(import_module(module), attribute)
    return loaded
