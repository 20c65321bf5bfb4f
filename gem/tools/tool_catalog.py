"""Tools that people add to an environment by short names: `python`, `search:wikigame`, `mcp:time`.

for offer in offers():
    print(offer.name, offer.summary, offer.obstacle or "can be used here")
env = wrap(gem.make("game:GuessTheNumber-v0-easy"), [wrapper(["python"], max_tool_uses=5)])

Forms, addresses, command lines and specifications of jobs all write these names, and an episode that is played with
tools has the wrapper that `wrapper` makes of them: there is no other way in which a choice of tools is recorded.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import environ
from typing import Any, Literal

from gem.errors import InvalidArgument
from gem.registry import DEFAULT_MAX_TOOL_USES, EnvSpec
from gem.tools.kinds import TOOLS
from gem.tools.mcp.config import SERVERS_FILE_VARIABLE, registered_servers
from gem.tools.search.index import BUNDLED, NAME, PACKAGES, indexes
from gem.validation.near import did_you_mean

Format = Literal["tags", "native"]
FORMATS: dict[Format, str] = {"tags": "tags of each tool", "native": "function calls"}
"""Names of the formats of tool calls, for people (see `gem.tools.ToolEnvWrapper`)."""
MAX_USES = 100
"""The largest number of tool uses that an episode may allow."""
SERVER = "SEARCH_URL"


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool that may be added to an environment."""

    name: str
    """The short name that selects it."""
    summary: str
    obstacle: str = ""
    """Why it cannot be used on this machine, with what to do; empty if it can."""


def offers(*, wait: bool = False) -> list[Offer]:
    """The tools on this machine, and the kinds of tools that it lacks, with the reason.

    Args:
        wait: whether to wait until the levels of the sandbox are probed, which takes about a second the first time.
            Without waiting, Python counts as usable until then.
    """
    registered = [Offer(name, "a tool of your own") for name in TOOLS if name not in ("python", "search", "mcp")]
    return [_python(wait=wait), *_searches(), *_servers(), *registered]


def check_usable(names: Sequence[str]) -> None:
    """Return if all these tools can be used on this machine.

    Raises:
        InvalidArgument: for the first tool that cannot be used, with the reason, or with the nearest name.
    """
    offers_by_name = {offer.name: offer for offer in offers(wait=True)} if names else {}
    for name in names:
        if name not in offers_by_name:
            usable = [offer.name for offer in offers_by_name.values() if not offer.obstacle]
            raise InvalidArgument(f"There is no tool {name!r:.80} here. {did_you_mean(name, usable)}")
        if offers_by_name[name].obstacle:
            raise InvalidArgument(f"The tool {name} cannot be used here. {offers_by_name[name].obstacle}")


def check_takes_tools(spec: EnvSpec) -> None:
    """Return if tools may be added to this environment.

    Raises:
        InvalidArgument: if it has several seats, or tools of its own.
    """
    if spec.seats > 1:
        raise InvalidArgument(f"{spec.id} has several seats, and tools are used where there is one. Leave them out.")
    if spec.tools:
        raise InvalidArgument(f"{spec.id} has tools of its own ({', '.join(spec.tools)}). Leave the others out.")


def wrapper(
    names: Sequence[str], max_tool_uses: int = DEFAULT_MAX_TOOL_USES, tool_format: Format = "tags"
) -> dict[str, Any]:
    """The wrapper that adds these tools, as `gem.wrappers.wrap` takes it and episodes record it.

    The tools need not be available on this machine, so that any record can be read.

    Raises:
        InvalidArgument: if a name is invalid or repeated, or two indexes are named.
    """
    tools = _parse_names(names)
    if not 1 <= max_tool_uses <= MAX_USES:
        raise InvalidArgument(f"Tools may be used 1 to {MAX_USES} times in an episode, not {max_tool_uses}.")
    settings: dict[str, Any] = {"name": "tools", "tools": tools, "max_tool_uses": max_tool_uses}
    return settings if tool_format == "tags" else {**settings, "format": tool_format}


def names_of(wrapper: Mapping[str, Any]) -> list[str]:
    """The short names from which `wrapper` made this; empty if the tools have other settings."""
    names: list[str] = []
    tools = wrapper.get("tools") if wrapper.get("name") == "tools" else None
    for tool in tools if isinstance(tools, list | tuple) else ():
        spec = {"name": tool} if isinstance(tool, str) else tool
        arguments = {**spec} if isinstance(spec, Mapping) else {}
        kind = arguments.pop("name", None)
        if kind == "search" and set(arguments) == {"index"}:
            names.append(f"search:{arguments['index']}")
        elif kind == "mcp" and set(arguments) == {"servers"} and isinstance(arguments["servers"], list | tuple):
            names += [f"mcp:{server}" for server in arguments["servers"]]
        elif isinstance(kind, str) and not arguments:
            names.append(kind)
        else:
            return []
    return names


def as_fields(wrapper: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The choice of tools as names and values of the fields of a form or an address."""
    pairs = [("tool", name) for name in names_of(wrapper)]
    if not pairs:
        return []
    settings = {
        "max_tool_uses": wrapper.get("max_tool_uses", DEFAULT_MAX_TOOL_USES),
        "tool_format": wrapper.get("format", "tags"),
    }
    return [*pairs, *((name, str(value)) for name, value in settings.items())]


def in_words(names: Sequence[str], max_tool_uses: int, tool_format: Format) -> str:
    """A short description of the choice, equal for equal choices: `python, 5 uses`; empty without tools."""
    if not names:
        return ""
    uses = "1 use" if max_tool_uses == 1 else f"{max_tool_uses} uses"
    return ", ".join([*sorted(names), uses, *([FORMATS["native"]] if tool_format == "native" else [])])


def _parse_names(names: Sequence[str]) -> list[dict[str, Any]]:
    """The tools as `gem.tools.kinds.make_tool` takes them; the servers of MCP are one tool."""
    if not names or len(set(names)) != len(names):
        raise InvalidArgument("Give at least one tool, and each once.")
    tools: list[dict[str, Any]] = []
    servers = []
    for name in names:
        kind, _, detail = name.partition(":")
        if kind == "mcp" and not detail:
            raise InvalidArgument("Name the MCP server, as in mcp:time.")
        if kind not in TOOLS or (detail and kind not in ("search", "mcp")):
            hint = did_you_mean(name, TOOLS, "Choose one of python, search:INDEX, mcp:SERVER.", cutoff=0.4)
            raise InvalidArgument(f"There is no tool {name!r:.80}. {hint}")
        if kind == "mcp":
            servers.append(detail)
        elif detail and not NAME.fullmatch(detail):
            raise InvalidArgument(
                f"The name of an index is of small letters, digits, dots and hyphens, not {detail!r:.80}."
            )
        else:
            tools.append({"name": kind, "index": detail} if detail else {"name": kind})
    if sum(tool["name"] == "search" for tool in tools) > 1:
        raise InvalidArgument("An episode searches in one place: choose one index.")
    return tools + ([{"name": "mcp", "servers": servers}] if servers else [])


# ------------------------------------------------------------------ the tools of this machine


def _python(*, wait: bool) -> Offer:
    from gem.sandbox import levels  # noqa: PLC0415 (takes time to import)

    choice = levels.choice() if wait else levels.choice_if_known()
    is_disabled = choice is not None and choice.level == "disabled"
    return Offer("python", "runs programs in the sandbox", choice.message if choice and is_disabled else "")


def _searches() -> list[Offer]:
    modules = dict(zip(PACKAGES, ("bm25s", "Stemmer"), strict=True))
    missing = [package for package, module in modules.items() if importlib.util.find_spec(module) is None]
    obstacle = f"It needs packages: pip install {' '.join(missing)}" if missing else ""
    bundled = Offer(f"search:{BUNDLED}", "searches the pages that WikiGame is played on", obstacle)
    local = [Offer(f"search:{folder.name}", "searches an index of this machine", obstacle) for folder in indexes()]
    server = Offer("search", "asks the search server of this machine") if environ.get(SERVER) else None
    return [bundled, *local, *([server] if server else [])]


def _servers() -> list[Offer]:
    try:
        names = list(registered_servers())
    except InvalidArgument as error:
        return [Offer("mcp", "asks MCP servers", str(error))]
    if not names:
        return [
            Offer(
                "mcp", "asks MCP servers", f"No server is registered: {SERVERS_FILE_VARIABLE} names a file with them."
            )
        ]
    is_missing = importlib.util.find_spec("mcp") is None
    obstacle = "It needs a package: pip install 'mcp>=2'" if is_missing else ""
    return [Offer(f"mcp:{name}", f"asks the MCP server {name}", obstacle) for name in names]
