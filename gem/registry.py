"""The registry of environments: `register` adds one, `spec` looks one up by its id (`gem.factory.make` makes it)."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence, ValuesView
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from gem import plugins
from gem.core import Env
from gem.errors import EnvironmentFailure, InvalidArgument, UnknownEnvironment
from gem.validation.near import did_you_mean

if TYPE_CHECKING:
    from gem.tools.kinds import ToolSpec

Replay = Literal["exact", "taped", "none"]
Cost = Literal["fast", "slow"]
Turns = Literal["single", "multi"]

ID = re.compile(r"[\w.:+-]+")
"""The characters of an id; ids appear in URLs and on command lines."""
ALLOWED_VALUES = {"replay": get_args(Replay), "cost": get_args(Cost), "turns": get_args(Turns)}
"""The values that these arguments of `register` may have."""
REMOTE = "openenv:"
"""The beginning of ids of environments on servers of OpenEnv, such as `openenv:http:++127.0.0.1:8000`. They are not in
the registry: `openenv:` with any address names one."""
REMOTE_CLASS = "gem.openenv.remote:RemoteOpenEnv"
NOT_REGISTERED = "No environment is registered as"
"""The beginning of the message of `UnknownEnvironment`, by which the command line recognizes it in other messages."""
DEFAULT_MAX_TOOL_USES = 10
"""How often an agent may use tools in an episode by default, as in GEM."""


@dataclass(frozen=True, slots=True)
class EnvSpec:
    """A registered environment: what is known of it before one is made."""

    id: str
    """The id, such as `game:Sokoban-v0-easy`."""
    entry_point: str | Callable[..., Env]
    """`module:Class`, which `make` imports, or the class itself."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """The arguments that `make` passes to the class unless the caller overrides them."""
    version: int = 1
    """The version; it is raised whenever the same seed and actions would give other turns."""
    replay: Replay = "exact"
    """How an episode is replayed. `exact`: from seed and actions. `taped`: also from recorded outputs of tools and
    other outside sources. `none`: it cannot be executed again, only shown."""
    cost: Cost = "slow"
    """`fast`: every step takes less than 50 ms of CPU time, whatever the action is, so the web process may step it.
    `slow`: a step may take seconds (another process, a network), or nobody has said that it does not, so only workers
    step it; its constructor, `reset`, `set_state` and `view` still have to be quick."""
    has_declared_cost: bool = False
    """Whether `cost` was declared, so that a slow environment really waits for something."""
    winnable: bool = True
    """Whether an episode can be solved within its turn limit."""
    turns: Turns = "multi"
    """`single`: every episode is one question and one answer, apart from the use of tools."""
    tools: tuple[str, ...] = ()
    """The names of the tools that an agent may use: python, search."""
    seats: int = 1
    """The number of seats. Where it is above 1, the arguments `opponent` and `seat` of `make` leave one of them."""
    requires: tuple[str, ...] = ()
    """Packages that it needs beyond those of the engine, as pip takes them: reasoning-gym."""
    obstacle: str = ""
    """`module:function` of a function that returns why it cannot be played on this machine, such as a sandbox that the
    kernel does not support; the function returns "" if it can."""
    board: str = ""
    """The kind of its view, if it is known without making one; otherwise empty."""
    summary: str = ""
    """A sentence about this environment, where the docstring of its module describes several."""

    def missing_packages(self) -> list[str]:
        """Return those of `requires` that are not installed, without importing them."""
        return [name for name in self.requires if not _is_installed(name)]

    def unavailable_reason(self) -> str:
        """Return why it cannot be played on this machine with all packages installed; empty if it can."""
        if not self.obstacle:
            return ""
        module, _, name = self.obstacle.partition(":")
        return str(getattr(importlib.import_module(module), name)())

    def reads_tape(self) -> bool:
        """Return whether what takes long in a step is read from the record when it is replayed (`Env.feed_tape`)."""
        factory = self.load()
        return isinstance(factory, type) and issubclass(factory, Env) and factory.reads_tape(**self.kwargs)

    @property
    def may_hold_rng(self) -> bool:
        """Whether others may have to wait while it acts, because it draws from generators that the process shares."""
        return self.cost == "fast" or not self.has_declared_cost

    @property
    def category(self) -> str:
        """The part of the id before the colon, such as game, math or code; `custom` if there is no colon."""
        return self.id.partition(":")[0] if ":" in self.id else "custom"

    @property
    def family(self) -> str:
        """The part of the id that all difficulties share, such as `Sokoban`."""
        return self.id.rpartition(":")[2].partition("-v")[0]

    @property
    def difficulty(self) -> str:
        """The part of the id after the version: `easy`, `hard`, `random`, `vs-expert`; empty if there is none."""
        return self.id.partition("-v")[2].partition("-")[2]

    def load(self) -> Callable[..., Env]:
        """Import the module of the entry point and return the class or function that makes the environment.

        Raises:
            EnvironmentFailure: if the module or the class does not exist.
        """
        if not isinstance(self.entry_point, str):
            return self.entry_point
        module, _, name = self.entry_point.partition(":")
        try:
            factory: Callable[..., Env] = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise EnvironmentFailure(
                f"{self.id} is registered as {self.entry_point!r}, a module and a class in it, which cannot be loaded: "
                f"{type(error).__name__}: {error}."
            ) from error
        return factory


_installed: set[str] = set()
"""Distributions that were found. What is missing may be installed later, what is there stays."""


def _is_installed(distribution: str) -> bool:
    """Whether a package is installed, either as a distribution or as a module of that name."""
    if distribution not in _installed and (_is_module(distribution) or _is_distribution(distribution)):
        _installed.add(distribution)
    return distribution in _installed


def _is_module(distribution: str) -> bool:
    """Whether a module has the name of the distribution, which is fast to find out and enough for most packages."""
    return importlib.util.find_spec(distribution.replace("-", "_")) is not None


def _is_distribution(distribution: str) -> bool:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 (slow to import, see gem.plugins)

    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True


class Registry(MutableMapping[str, EnvSpec]):
    """Specifications by id, in the order of registration.

    The engine's own environments are imported at the first access, because importing them takes twice as long as
    `import gem` without them.
    """

    def __init__(self) -> None:
        self._specs: dict[str, EnvSpec] = {}

    def __getitem__(self, env_id: str) -> EnvSpec:
        plugins.load_built_in()
        return self._specs[env_id]

    def __setitem__(self, env_id: str, env_spec: EnvSpec) -> None:
        plugins.load_built_in()
        self._specs[env_id] = env_spec

    def __delitem__(self, env_id: str) -> None:
        plugins.load_built_in()
        del self._specs[env_id]

    def __iter__(self) -> Iterator[str]:
        plugins.load_built_in()
        return iter(self._specs)

    def __len__(self) -> int:
        plugins.load_built_in()
        return len(self._specs)

    def values(self) -> ValuesView[EnvSpec]:
        """All specifications, without looking each one up by its id."""
        plugins.load_built_in()
        return self._specs.values()


ENV_REGISTRY: MutableMapping[str, EnvSpec] = Registry()


def register(
    env_id: str,
    entry_point: str | Callable[..., Env],
    *,
    version: int = 1,
    replay: Replay = "exact",
    cost: Cost | None = None,
    winnable: bool = True,
    turns: Turns = "multi",
    tools: Sequence[ToolSpec] = (),
    tools_of_parts: Sequence[str] = (),
    seats: int = 1,
    requires: Sequence[str] = (),
    obstacle: str = "",
    board: str = "",
    summary: str = "",
    **kwargs: Any,
) -> None:
    """Make `gem.make(env_id)` call `entry_point(**kwargs)`; the other arguments are described in `EnvSpec`.

    Without `cost`, the environment is slow: only workers step it.

    With `tools`, `make` puts these tools around the environment, with `tool_format` and `max_tool_uses` if those are
    among `kwargs`. The environment is then registered as `taped` and `slow`, because the outputs of tools come from
    outside. `tools_of_parts` names tools that the environment has without them, as a mixture has those of its parts.

    Registering the same specification twice has no effect. A class that is defined again, for example by a notebook
    cell that runs twice, replaces the earlier one.

    Raises:
        InvalidArgument: if the id is malformed or belongs to another environment, if `entry_point` is not a class, a
            function or "module:Class", or if another argument has an unknown value.
    """
    _check_registration(env_id, entry_point, replay=replay, cost="slow" if cost is None else cost, turns=turns)
    names = tuple(tools_of_parts)
    if tools:
        names, kwargs = tuple(map(tool_name, tools)), {"tools": list(tools), **kwargs}
        replay, cost = ("taped" if replay == "exact" else replay), "slow"
    new_spec = EnvSpec(
        env_id,
        entry_point,
        dict(kwargs),
        version,
        replay,
        cost or "slow",
        cost is not None,
        winnable,
        turns,
        names,
        seats,
        tuple(requires),
        obstacle,
        board,
        summary,
    )
    existing = ENV_REGISTRY.get(env_id)
    if existing is not None and existing != new_spec and not _is_redefinition(entry_point, existing.entry_point):
        raise InvalidArgument(f"{env_id!r} is already registered; choose another id or raise its version.")
    ENV_REGISTRY[env_id] = new_spec


def tool_name(tool: ToolSpec) -> str:
    """Return the name under which a tool is shown, without making the tool."""
    if isinstance(tool, str):
        return tool
    return str(tool.get("name", "")) if isinstance(tool, Mapping) else tool.label


def _is_redefinition(new_entry: object, old_entry: object) -> bool:
    """Whether `new_entry` is another class or function than `old_entry` and defined under the same name and module."""
    places = [
        (getattr(item, "__module__", None), getattr(item, "__qualname__", None)) for item in (new_entry, old_entry)
    ]
    return new_entry is not old_entry and places[0] == places[1] and None not in places[0]


def _check_registration(env_id: object, entry_point: object, **values: object) -> None:
    if not isinstance(env_id, str) or not ID.fullmatch(env_id):
        raise InvalidArgument(
            f"{env_id!r:.80} cannot be an id: letters, digits and the signs _ . : + - make one, as in game:Mine-v0."
        )
    if not callable(entry_point) and not isinstance(entry_point, str):
        raise InvalidArgument(
            f"{env_id} is registered with {entry_point!r:.80}: give the class itself, a function that makes one, or "
            '"module:Class".'
        )
    for name, value in values.items():
        if value not in ALLOWED_VALUES[name]:
            raise InvalidArgument(f"{name} is one of {', '.join(map(repr, ALLOWED_VALUES[name]))}, not {value!r:.40}.")


def spec(env_id: str) -> EnvSpec:
    """Return the specification that is registered under `env_id`.

    Raises:
        UnknownEnvironment: if there is none; the message names the nearest registered ids.
    """
    plugins.load_installed()
    env_spec = ENV_REGISTRY.get(env_id)
    if env_spec is None and str(env_id).startswith(REMOTE):
        return _remote_spec(env_id)
    if env_spec is None:
        hint = did_you_mean(str(env_id), ENV_REGISTRY, "gem.print_envs() lists all.", max_matches=3, cutoff=0.5)
        raise UnknownEnvironment(f"{NOT_REGISTERED} {env_id!r}. {hint}")
    return env_spec


def unregistered(env_ids: Iterable[str]) -> list[str]:
    """Return those of these ids under which nothing is registered, each once, in their order."""
    found = []
    for env_id in dict.fromkeys(env_ids):
        try:
            spec(env_id)
        except UnknownEnvironment:
            found.append(env_id)
    return found


def _remote_spec(env_id: str) -> EnvSpec:
    """The specification of an environment on a server of OpenEnv; its id is the address with + in place of /.

    Raises:
        InvalidArgument: if the rest is no address, or has a token in it.
        UnknownEnvironment: if this process connects to no server.
    """
    from gem.net.addresses import check_that_servers_are_allowed  # noqa: PLC0415 (only for such environments)
    from gem.net.openenv import check_address  # noqa: PLC0415

    check_that_servers_are_allowed()

    address = env_id.removeprefix(REMOTE)
    url = check_address(address if "/" in address else address.replace("+", "/"))
    own_id = REMOTE + url.replace("/", "+")
    if not ID.fullmatch(own_id):
        raise InvalidArgument(
            f"{url!r:.200} has signs that an id cannot have: letters, digits and _ . : - / are allowed."
        )
    return EnvSpec(
        own_id,
        REMOTE_CLASS,
        {"url": url},
        replay="taped",
        cost="slow",
        has_declared_cost=True,
        requires=("aiohttp", "certifi"),
        board="text",
        summary=f"The environment of the OpenEnv server at {url}.",
    )


def specs() -> list[EnvSpec]:
    """Return all registered specifications, in the order of registration."""
    plugins.load_installed()
    return list(ENV_REGISTRY.values())


def print_envs() -> None:
    """Print every registered id, grouped by category."""
    by_category: dict[str, list[str]] = {}
    for env_spec in specs():
        by_category.setdefault(env_spec.category, []).append(env_spec.id)
    for category, ids in by_category.items():
        print(f"{category} ({len(ids)})")  # noqa: T201 (printing is the purpose of this function)
        for env_id in ids:
            print(f"  {env_id}")  # noqa: T201
