"""`make`: an environment by its id, with the opponents and tools that were asked for around it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from gem.core import Env, EnvWrapper, check_seed
from gem.errors import InvalidArgument, MissingDependency, SandboxUnavailable
from gem.registry import TOOL_USES, spec
from gem.validation.arguments import check_arguments, takes

if TYPE_CHECKING:
    from gem.tools.kinds import Described

SEATING = ("opponent", "seat")
"""The arguments of `make` that fill the other seats."""
TOOLING = ("tools", "tool_format", "max_tool_uses")
"""The arguments of `make` that put tools around an environment (see `gem.tools`)."""


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


def make_wrapped(env_id: str, env_kwargs: Mapping[str, Any], wrappers: Sequence[Mapping[str, Any]]) -> Env:
    """The environment registered as `env_id` in wrappers that are described as plain data, innermost first.

    Raises:
        UnknownEnvironment: if no such id is registered.
        InvalidArgument: if the environment or a wrapper does not take its arguments.
    """
    from gem.wrappers.wrapper_factory import wrap  # noqa: PLC0415 (wrappers take longer to import than all the rest)

    return wrap(make(env_id, **env_kwargs), wrappers)


def _completed(env_id: str, env: object) -> Env:
    """What was made, with what its class leaves to others if it defines only `reset` and `step`."""
    if not isinstance(env, Env):
        raise InvalidArgument(f"{env_id} gave a {type(env).__name__}, which is no gem.Env: derive its class from that.")
    if isinstance(env, EnvWrapper) or type(env).reset is Env.reset:
        return env
    from gem.compat.adapter import GemEnvAdapter  # noqa: PLC0415 (only for environments written for GEM)

    return GemEnvAdapter(env)


def _opposed(env: Env, opponent: str | None = None, seat: int | None = None) -> Env:
    """The environment with an agent in the other seats, if one is named."""
    from gem.wrappers.opponent import Opponent  # noqa: PLC0415 (only where there are several seats)

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
    from gem.tools.tool_env_wrapper import ToolEnvWrapper  # noqa: PLC0415 (only where there are tools)

    if not tools:
        return env
    equipped = ToolEnvWrapper(env, tools, max_tool_uses=max_tool_uses, format=tool_format, of_make=True)
    inside = env.unwrapped.env_kwargs
    if "tools" in inside:  # tools that were made before are written down by name
        inside["tools"] = equipped.described_tools
    return equipped
