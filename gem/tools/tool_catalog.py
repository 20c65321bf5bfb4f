"""Tools that people add to an environment by short names: `python`, `search:wikigame`, `mcp:time`.

for one in offers():
    print(one.name, one.summary, one.obstacle or "can be used here")
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
"""How tools are asked for, in words (see `gem.tools.ToolEnvWrapper`)."""
MOST_USES = 100
"""The largest budget of one episode."""
SERVER = "SEARCH_URL"


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool that may be added to an environment."""

    name: str
    """What is written to choose it."""
    summary: str
    obstacle: str = ""
    """Why it cannot be used on this machine, with what to do; empty if it can."""


def offers(*, wait: bool = False) -> list[Offer]:
    """Every tool that there is here, and those kinds of which there is none, with the reason.

    Args:
        wait: until it is known whether programs can be confined here, which takes about a second the first time;
            otherwise Python counts as usable meanwhile.
    """
    own = [Offer(name, "a tool of your own") for name in TOOLS if name not in ("python", "search", "mcp")]
    return [_python(wait=wait), *_searches(), *_servers(), *own]


def check_usable(names: Sequence[str]) -> None:
    """Return if all these tools can be used on this machine.

    Raises:
        InvalidArgument: with the first that cannot, and why; of one that is not there, the nearest is named.
    """
    known = {one.name: one for one in offers(wait=True)} if names else {}
    for name in names:
        if name not in known:
            usable = [one.name for one in known.values() if not one.obstacle]
            raise InvalidArgument(f"There is no tool {name!r:.80} here. {did_you_mean(name, usable)}")
        if known[name].obstacle:
            raise InvalidArgument(f"The tool {name} cannot be used here. {known[name].obstacle}")


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

    Nothing is asked of this machine, so that a record can be read where a tool is not there.

    Raises:
        InvalidArgument: if a name cannot be one, one is given twice, or two indexes are to be searched.
    """
    described = _described(names)
    if not 1 <= max_tool_uses <= MOST_USES:
        raise InvalidArgument(f"Tools may be used 1 to {MOST_USES} times in an episode, not {max_tool_uses}.")
    made: dict[str, Any] = {"name": "tools", "tools": described, "max_tool_uses": max_tool_uses}
    return made if tool_format == "tags" else {**made, "format": tool_format}


def names_of(wrapper: Mapping[str, Any]) -> list[str]:
    """The short names that `wrapper` made this of; empty if it was made in another way, with other settings."""
    found: list[str] = []
    tools = wrapper.get("tools") if wrapper.get("name") == "tools" else None
    for one in tools if isinstance(tools, list | tuple) else ():
        described = {"name": one} if isinstance(one, str) else one
        given = {**described} if isinstance(described, Mapping) else {}
        kind = given.pop("name", None)
        if kind == "search" and set(given) == {"index"}:
            found.append(f"search:{given['index']}")
        elif kind == "mcp" and set(given) == {"servers"} and isinstance(given["servers"], list | tuple):
            found += [f"mcp:{server}" for server in given["servers"]]
        elif isinstance(kind, str) and not given:
            found.append(kind)
        else:
            return []
    return found


def as_fields(wrapper: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The same choice as the names and values of a form's or an address's fields."""
    pairs = [("tool", name) for name in names_of(wrapper)]
    if not pairs:
        return []
    given = {
        "max_tool_uses": wrapper.get("max_tool_uses", DEFAULT_MAX_TOOL_USES),
        "tool_format": wrapper.get("format", "tags"),
    }
    return [*pairs, *((name, str(value)) for name, value in given.items())]


def in_words(names: Sequence[str], max_tool_uses: int, tool_format: Format) -> str:
    """The choice in a few words, the same for the same choice: `python, 5 uses`; empty without tools."""
    if not names:
        return ""
    uses = "1 use" if max_tool_uses == 1 else f"{max_tool_uses} uses"
    return ", ".join([*sorted(names), uses, *([FORMATS["native"]] if tool_format == "native" else [])])


def _described(names: Sequence[str]) -> list[dict[str, Any]]:
    """The tools as `gem.tools.kinds.make_tool` takes them; the servers of MCP are one tool."""
    if not names or len(set(names)) != len(names):
        raise InvalidArgument("Give at least one tool, and each once.")
    found: list[dict[str, Any]] = []
    servers = []
    for name in names:
        kind, _, of = name.partition(":")
        if kind == "mcp" and not of:
            raise InvalidArgument("Name the MCP server, as in mcp:time.")
        if kind not in TOOLS or (of and kind not in ("search", "mcp")):
            hint = did_you_mean(name, TOOLS, "Choose one of python, search:INDEX, mcp:SERVER.", cutoff=0.4)
            raise InvalidArgument(f"There is no tool {name!r:.80}. {hint}")
        if kind == "mcp":
            servers.append(of)
        elif of and not NAME.fullmatch(of):
            raise InvalidArgument(
                f"The name of an index is of small letters, digits, dots and hyphens, not {of!r:.80}."
            )
        else:
            found.append({"name": kind, "index": of} if of else {"name": kind})
    if sum(one["name"] == "search" for one in found) > 1:
        raise InvalidArgument("An episode searches in one place: choose one index.")
    return found + ([{"name": "mcp", "servers": servers}] if servers else [])


# ------------------------------------------------------------------ what there is here


def _python(*, wait: bool) -> Offer:
    from gem.sandbox import levels  # noqa: PLC0415 (takes time to import)

    found = levels.choice() if wait else levels.choice_if_known()
    disabled = found is not None and found.level == "disabled"
    return Offer("python", "runs programs in the sandbox", found.message if found and disabled else "")


def _searches() -> list[Offer]:
    modules = dict(zip(PACKAGES, ("bm25s", "Stemmer"), strict=True))
    lacking = [package for package, module in modules.items() if importlib.util.find_spec(module) is None]
    obstacle = f"It needs packages: pip install {' '.join(lacking)}" if lacking else ""
    bundled = Offer(f"search:{BUNDLED}", "searches the pages that WikiGame is played on", obstacle)
    own = [Offer(f"search:{folder.name}", "searches an index of this machine", obstacle) for folder in indexes()]
    server = Offer("search", "asks the search server of this machine") if environ.get(SERVER) else None
    return [bundled, *own, *([server] if server else [])]


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
    lacking = importlib.util.find_spec("mcp") is None
    obstacle = "It needs a package: pip install 'mcp>=2'" if lacking else ""
    return [Offer(f"mcp:{name}", f"asks the MCP server {name}", obstacle) for name in names]
