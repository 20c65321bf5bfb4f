"""Environments by id: `register` says how one is made, `spec` looks it up (`gem.factory.make` makes it)."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from gem import plugins
from gem.core import Env
from gem.errors import EnvironmentFailure, InvalidArgument, UnknownEnvironment
from gem.validation.near import did_you_mean

if TYPE_CHECKING:
    from gem.tools.kinds import Described

Replay = Literal["exact", "taped", "none"]
Cost = Literal["fast", "slow"]
Turns = Literal["single", "multi"]

ID = re.compile(r"[\w.:+-]+")
"""What an id is made of: it stands in addresses and on command lines."""
ALLOWED = {"replay": get_args(Replay), "cost": get_args(Cost), "turns": get_args(Turns)}
"""What these arguments of `register` may be."""
NOT_REGISTERED = "No environment is registered as"
"""How the message of `UnknownEnvironment` begins, also where it is quoted."""
TOOL_USES = 10
"""How often tools may be used in an episode if nothing else is said, as in GEM."""


@dataclass(frozen=True, slots=True)
class EnvSpec:
    """What the registry knows of an environment without making it."""

    id: str
    """Such as `game:Sokoban-v0-easy`."""
    entry_point: str | Callable[..., Env]
    """`module:Class`, loaded on `make`, or the class itself."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1
    """Raised whenever the same seed and actions would give other turns."""
    replay: Replay = "exact"
    """`exact`: follows from seed and actions. `taped`: outside outputs are stored. `none`: only shown."""
    cost: Cost = "fast"
    """`fast` environments may be stepped in the web process. `slow` ones take seconds for a step (a process, a
    network), so only workers step them; making one, `reset`, `set_state` and `view` are quick all the same."""
    winnable: bool = True
    """Whether an episode can be solved within its turn limit."""
    turns: Turns = "multi"
    """`single`: every episode is one question and one answer, besides the use of tools."""
    tools: tuple[str, ...] = ()
    """Names of the tools that an agent may use: python, search."""
    seats: int = 1
    """How many places an episode has that someone acts from; where there are several, the arguments `opponent` and
    `seat` leave one."""
    requires: tuple[str, ...] = ()
    """Packages beyond the engine's own, as one writes them to pip: reasoning-gym."""
    obstacle: str = ""
    """`module:function` that says why it cannot be played on this machine, with nothing if it can: a sandbox that the
    kernel does not offer."""
    board: str = ""
    """The kind of its view where it is known beforehand; empty: make one and look."""
    summary: str = ""
    """A sentence on this environment, where its module's docstring speaks of several."""

    def missing(self) -> list[str]:
        """Those of `requires` that are not installed now; nothing is imported to find out."""
        return [name for name in self.requires if not _is_installed(name)]

    def hindrance(self) -> str:
        """Why it cannot be played on this machine though every package is there; empty if it can."""
        if not self.obstacle:
            return ""
        module, _, name = self.obstacle.partition(":")
        return str(getattr(importlib.import_module(module), name)())

    @property
    def category(self) -> str:
        """The part before the colon: game, math, code ...; `custom` where there is none."""
        return self.id.partition(":")[0] if ":" in self.id else "custom"

    @property
    def family(self) -> str:
        """The name that all difficulties share: `Sokoban`."""
        return self.id.rpartition(":")[2].partition("-v")[0]

    @property
    def difficulty(self) -> str:
        """The part after the version, empty for the default and without one: `easy`, `hard`, `random`, `vs-expert`."""
        return self.id.partition("-v")[2].partition("-")[2]

    def load(self) -> Callable[..., Env]:
        """The class (or factory) that makes the environment; imports its module.

        Raises:
            EnvironmentFailure: if there is no such module, or no such class in it.
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


def _is_installed(distribution: str) -> bool:
    """Whether a package of this name is there, under its own name or as a module that can be imported."""
    if importlib.util.find_spec(distribution.replace("-", "_")) is not None:  # quick, and right for most
        return True
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 (slow to import, see gem.plugins)

    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True


class Registry(MutableMapping[str, EnvSpec]):
    """Specifications by id, in the order of registration.

    Our own environments register themselves when it is first read or written: importing them takes twice the time of
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


ENV_REGISTRY: MutableMapping[str, EnvSpec] = Registry()


def register(
    env_id: str,
    entry_point: str | Callable[..., Env],
    *,
    version: int = 1,
    replay: Replay = "exact",
    cost: Cost = "fast",
    winnable: bool = True,
    turns: Turns = "multi",
    tools: Sequence[Described] = (),
    seats: int = 1,
    requires: Sequence[str] = (),
    obstacle: str = "",
    board: str = "",
    summary: str = "",
    **kwargs: Any,
) -> None:
    """Make `gem.make(env_id)` call `entry_point(**kwargs)`; the other arguments are described in `EnvSpec`.

    With `tools`, `make` puts them around the environment, with `tool_format` and `max_tool_uses` if those are among
    `kwargs`. What tools give comes from outside, so the environment is then `taped`, and `slow`.

    What is registered twice in the same way stays; a class that is defined again, as in a cell of a notebook that runs
    twice, takes the place of the one before.

    Raises:
        InvalidArgument: if the id is taken or cannot be one, if `entry_point` is no class, function or
            "module:Class", or if another argument is none of its values.
    """
    _check_registration(env_id, entry_point, replay=replay, cost=cost, turns=turns)
    names: tuple[str, ...] = ()
    if tools:
        names, kwargs = tuple(map(_tool_name, tools)), {"tools": list(tools), **kwargs}
        replay, cost = ("taped" if replay == "exact" else replay), "slow"
    registered = EnvSpec(
        env_id,
        entry_point,
        dict(kwargs),
        version,
        replay,
        cost,
        winnable,
        turns,
        names,
        seats,
        tuple(requires),
        obstacle,
        board,
        summary,
    )
    taken = ENV_REGISTRY.get(env_id)
    if taken is not None and taken != registered and not _is_defined_again(entry_point, taken.entry_point):
        raise InvalidArgument(f"{env_id!r} is already registered; choose another id or raise its version.")
    ENV_REGISTRY[env_id] = registered


def _tool_name(tool: Described) -> str:
    """The name under which a tool is shown, without making it."""
    if isinstance(tool, str):
        return tool
    return str(tool.get("name", "")) if isinstance(tool, Mapping) else tool.label


def _is_defined_again(new: object, old: object) -> bool:
    """Whether two classes are two states of one: of another object, and from the same place of the same module."""
    places = [(getattr(one, "__module__", None), getattr(one, "__qualname__", None)) for one in (new, old)]
    return new is not old and places[0] == places[1] and None not in places[0]


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
        if value not in ALLOWED[name]:
            raise InvalidArgument(f"{name} is one of {', '.join(map(repr, ALLOWED[name]))}, not {value!r:.40}.")


def spec(env_id: str) -> EnvSpec:
    """The specification registered under `env_id`.

    Raises:
        UnknownEnvironment: with the nearest registered ids.
    """
    plugins.load_installed()
    found = ENV_REGISTRY.get(env_id)
    if found is None:
        hint = did_you_mean(str(env_id), ENV_REGISTRY, "gem.print_envs() lists all.", most=3, cutoff=0.5)
        raise UnknownEnvironment(f"{NOT_REGISTERED} {env_id!r}. {hint}")
    return found


def specs() -> list[EnvSpec]:
    """All registered specifications, in the order of registration."""
    plugins.load_installed()
    return list(ENV_REGISTRY.values())


def print_envs() -> None:
    """Print every registered id, grouped by category."""
    by_category: dict[str, list[str]] = {}
    for env_spec in specs():
        by_category.setdefault(env_spec.category, []).append(env_spec.id)
    for category, ids in by_category.items():
        print(f"{category} ({len(ids)})")  # noqa: T201 (printing is what it is for)
        for env_id in ids:
            print(f"  {env_id}")  # noqa: T201
