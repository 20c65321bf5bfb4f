"""Environments by id: `register` says how one is made, `make` makes it."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import re
from _thread import RLock  # that of threading, without the time it takes to import
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from gem.arguments import check_arguments, takes
from gem.core import Env, EnvWrapper, check_seed
from gem.errors import EnvironmentFailure, InvalidArgument, MissingDependency, SandboxUnavailable, UnknownEnvironment

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

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
SEATING = ("opponent", "seat")
"""The arguments of `make` that fill the other seats."""
TOOL_USES = 10
"""How often tools may be used in an episode if nothing else is said, as in GEM."""
TOOLING = ("tools", "tool_format", "max_tool_uses")
"""The arguments of `make` that put tools around an environment (see `gem.tools`)."""
ENTRY_POINTS = "gem.environments"
"""Packages register their own environments by naming a module in this entry point group."""


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
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 (slow to import, see load_plugins)

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
        _load_own()
        return self._specs[env_id]

    def __setitem__(self, env_id: str, env_spec: EnvSpec) -> None:
        _load_own()
        self._specs[env_id] = env_spec

    def __delitem__(self, env_id: str) -> None:
        _load_own()
        del self._specs[env_id]

    def __iter__(self) -> Iterator[str]:
        _load_own()
        return iter(self._specs)

    def __len__(self) -> int:
        _load_own()
        return len(self._specs)


def _load_own() -> None:
    """Import our own environments, which register themselves; nothing happens the next time or while it happens."""
    import gem.envs  # noqa: F401, PLC0415 (see Registry)


ENV_REGISTRY: MutableMapping[str, EnvSpec] = Registry()
_plugins_loaded = False
_loading = RLock()
_loading_now: list[bool] = []
"""Not empty while plugins are imported; they may ask for environments themselves."""


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
        from gem.tools.kinds import names_of  # noqa: PLC0415 (only where there are tools)

        names, kwargs = names_of(tools), {"tools": list(tools), **kwargs}
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
    load_plugins()
    found = ENV_REGISTRY.get(env_id)
    if found is None:
        near = difflib.get_close_matches(str(env_id), ENV_REGISTRY, n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(near)}?" if near else " gem.print_envs() lists all."
        raise UnknownEnvironment(f"{NOT_REGISTERED} {env_id!r}.{hint}")
    return found


def specs() -> list[EnvSpec]:
    """All registered specifications, in the order of registration."""
    load_plugins()
    return list(ENV_REGISTRY.values())


def make(env_id: str, **kwargs: Any) -> Env:
    """Make the environment registered as `env_id`; `kwargs` override its registered arguments.

    Where there are several seats, `opponent="expert"` puts that agent into all but one of them, and `seat` says which
    one is left (see `gem.wrappers.Opponent`). `tools=["python"]` lets agents use tools between their actions;
    `tool_format` and `max_tool_uses` are those of `gem.tools.ToolEnvWrapper`.

    Raises:
        UnknownEnvironment: if no such id is registered.
        MissingDependency: if a package that it needs is not installed; the message says how to install it.
        SandboxUnavailable: if it runs programs and this machine cannot confine them.
        InvalidArgument: if an argument is unknown (the nearest is named) or has an impossible value.
    """
    env_spec = spec(env_id)
    missing = env_spec.missing()
    if missing:
        raise MissingDependency(env_id, missing)
    hindrance = env_spec.hindrance()
    if hindrance:
        raise SandboxUnavailable(f"{env_id} cannot be played here. {hindrance}")
    factory = env_spec.load()
    given = {**env_spec.kwargs, **kwargs}
    several = env_spec.seats > 1 or "opponent" in env_spec.kwargs
    seating = {name: given.pop(name) for name in SEATING if several and name in given}
    tooling = {name: given.pop(name) for name in TOOLING if name in given}
    if not several and any(name in kwargs and not takes(factory, name) for name in SEATING):
        raise InvalidArgument(
            f"{env_id} has one seat, so nobody can sit in another. One with several says so where it is registered: "
            "seats=2."
        )
    known = (*(SEATING if several else ()), *TOOLING)
    seed = given.get("seed")
    if "seed" in given and not takes(factory, "seed"):
        del given["seed"]
    check_arguments(factory, [name for name in kwargs if name in given], env_id, known)
    check_arguments(factory, [name for name in env_spec.kwargs if name in given], f"{env_id}, as it is registered,")
    try:
        made = factory(**given)
    except TypeError as error:
        if not kwargs or inspect.isabstract(factory):
            raise
        shown = ", ".join(f"{name}={value!r:.40}" for name, value in kwargs.items())
        raise InvalidArgument(f"{env_id} cannot be made with {shown}: {error}.") from error
    env = _completed(env_id, made)
    if seed is not None:
        env.unwrapped._next_seed = check_seed(seed)  # noqa: SLF001 (its class may not know of it)
    env.unwrapped.spec = env_spec
    env.unwrapped.env_kwargs = {name: value for name, value in kwargs.items() if name != "seed"}
    env = _opposed(env, **seating) if seating else env
    if env.seats > env_spec.seats:
        env.close()
        raise InvalidArgument(f"{env_id} has {env.seats} seats: say so where it is registered, seats={env.seats}.")
    return _equipped(env, **tooling) if tooling else env


def _completed(env_id: str, env: object) -> Env:
    """What was made, with what its class leaves to others if it defines only `reset` and `step`."""
    if not isinstance(env, Env):
        raise InvalidArgument(f"{env_id} gave a {type(env).__name__}, which is no gem.Env: derive its class from that.")
    if isinstance(env, EnvWrapper) or type(env).reset is Env.reset:
        return env
    from gem.wrappers.completed import Completed  # noqa: PLC0415 (only for environments written for GEM)

    return Completed(env)


def _opposed(env: Env, opponent: str | None = None, seat: int | None = None) -> Env:
    """The environment with an agent in the other seats, if one is named."""
    from gem.wrappers.opponent import Opponent  # noqa: PLC0415 (agents know environments, which register themselves)

    if opponent is not None:
        return Opponent(env, opponent, seat, of_make=True)
    if seat is not None:
        raise InvalidArgument("A seat is chosen together with an opponent: opponent='expert', seat=0.")
    return env


def _equipped(
    env: Env,
    tools: Sequence[Described] = (),
    tool_format: Literal["tags", "native"] = "tags",
    max_tool_uses: int | None = TOOL_USES,
) -> Env:
    """The environment with tools around it, if any are named."""
    from gem.tools.tool_env_wrapper import ToolEnvWrapper  # noqa: PLC0415 (which derives from an environment)

    if not tools:
        return env
    equipped = ToolEnvWrapper(env, tools, max_tool_uses=max_tool_uses, format=tool_format, of_make=True)
    inside = env.unwrapped.env_kwargs
    if "tools" in inside:  # tools that were made before are written down by name
        inside["tools"] = equipped.described_tools
    return equipped


def print_envs() -> None:
    """Print every registered id, grouped by category."""
    by_category: dict[str, list[str]] = {}
    for env_spec in specs():
        by_category.setdefault(env_spec.category, []).append(env_spec.id)
    for category, ids in by_category.items():
        print(f"{category} ({len(ids)})")  # noqa: T201 (printing is what it is for)
        for env_id in ids:
            print(f"  {env_id}")  # noqa: T201


def load_plugins() -> None:
    """Import the modules that installed packages name in the entry point group, once.

    One that cannot be imported is named in the log, and the others are loaded all the same.
    """
    if not _plugins_loaded:
        with _loading:  # another thread waits until all are there
            _load_all()


def _load_all() -> None:
    global _plugins_loaded  # noqa: PLW0603 (a once-only switch)
    if _plugins_loaded or _loading_now:
        return
    from importlib.metadata import entry_points  # noqa: PLC0415 (a third of the time that `import gem` takes)

    _loading_now.append(True)
    try:
        for plugin in entry_points(group=ENTRY_POINTS):
            _load_plugin(plugin)
    finally:
        _loading_now.clear()
    _plugins_loaded = True


def _load_plugin(plugin: EntryPoint) -> None:
    try:
        plugin.load()
    except Exception:  # whatever one package does wrong, the environments of all others are there
        import logging  # noqa: PLC0415 (a tenth of the time that `import gem` takes)

        logging.getLogger(__name__).exception(
            "The environments of the entry point %r (%s) cannot be registered; the others are there",
            plugin.name,
            plugin.value,
        )
