"""`make` creates an environment by its id and puts the requested opponents and tools around it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal

from gem.compat.arguments import translated
from gem.core import Env, EnvWrapper
from gem.errors import InvalidArgument, MissingDependency, SandboxUnavailable
from gem.registry import DEFAULT_MAX_TOOL_USES, REMOTE, EnvSpec, spec
from gem.validation.arguments import accepts, check_arguments, check_numbers
from gem.validation.values import check_seed

if TYPE_CHECKING:
    from gem.tools.kinds import ToolSpec

SEAT_ARGUMENTS = ("opponent", "seat")
"""The arguments of `make` that put an agent into the other seats (see `gem.wrappers.Opponent`)."""
TOOL_ARGUMENTS = ("tools", "tool_format", "max_tool_uses")
"""The arguments of `make` that put tools around an environment (see `gem.tools`)."""


def make(env_id: str, **kwargs: Any) -> Env:
    """Make the environment registered as `env_id`; `kwargs` override its registered arguments.

    In an environment with several seats, `opponent="expert"` puts that agent into all seats but one, and `seat` is the
    number of the free one (see `gem.wrappers.Opponent`). `tools=["python"]` lets agents use tools between their
    actions; `tool_format` and `max_tool_uses` are arguments of `gem.tools.ToolEnvWrapper`.

    Raises:
        UnknownEnvironment: if no such id is registered.
        MissingDependency: if a required package is not installed; the message has the command that installs it.
        SandboxUnavailable: if the environment runs programs and this machine cannot confine them.
        InvalidArgument: if an argument is unknown (the message names the nearest one) or has an impossible value.
    """
    env_id, kwargs = translated(env_id, kwargs)
    env_spec = spec(env_id)
    _check_available(env_spec)
    factory = env_spec.load()
    arguments = {**env_spec.kwargs, **kwargs}
    has_several_seats = env_spec.seats > 1 or "opponent" in env_spec.kwargs
    seat_arguments = {name: arguments.pop(name) for name in SEAT_ARGUMENTS if has_several_seats and name in arguments}
    tool_arguments = {name: arguments.pop(name) for name in TOOL_ARGUMENTS if name in arguments}
    if not has_several_seats and any(name in kwargs and not accepts(factory, name) for name in SEAT_ARGUMENTS):
        raise InvalidArgument(
            f"{env_id} has one seat, so nobody can sit in another. One with several says so where it is registered: "
            "seats=2."
        )
    seed = arguments.get("seed")
    if "seed" in arguments and not accepts(factory, "seed"):
        del arguments["seed"]
    other_names = (*(SEAT_ARGUMENTS if has_several_seats else ()), *TOOL_ARGUMENTS)
    check_arguments(factory, [name for name in kwargs if name in arguments], env_id, other_names)
    check_arguments(factory, [name for name in env_spec.kwargs if name in arguments], f"{env_id}, as it is registered,")
    check_numbers(factory, arguments)
    with _undisturbed_rng(env_spec, factory):
        env = _call_factory(env_id, factory, arguments, kwargs)
    if seed is not None:
        env.unwrapped._next_seed = check_seed(seed)  # noqa: SLF001 (the class may not have an argument for it)
    env.unwrapped.spec = env_spec
    env.unwrapped.env_kwargs = {name: value for name, value in kwargs.items() if name != "seed"}
    env = _add_opponent(env, **seat_arguments) if seat_arguments else env
    if env.seats > env_spec.seats:
        env.close()
        raise InvalidArgument(f"{env_id} has {env.seats} seats: say so where it is registered, seats={env.seats}.")
    return _add_tools(env, **tool_arguments) if tool_arguments else env


def make_wrapped(env_id: str, env_kwargs: Mapping[str, Any], wrappers: Sequence[Mapping[str, Any]]) -> Env:
    """Make an environment with wrappers around it that are described as plain data, innermost first.

    Raises:
        UnknownEnvironment: if no such id is registered.
        InvalidArgument: if the environment or a wrapper does not take its arguments.
    """
    from gem.wrappers.wrapper_factory import wrap  # noqa: PLC0415 (wrappers are slow to import)

    return wrap(make(env_id, **env_kwargs), wrappers)


def _check_available(env_spec: EnvSpec) -> None:
    """Check that the packages and the sandbox that an environment needs are there.

    Raises:
        MissingDependency: if a package is not installed.
        SandboxUnavailable: if it runs programs and this machine cannot confine them.
    """
    missing = env_spec.missing_packages()
    if missing:
        raise MissingDependency("An OpenEnv server" if env_spec.id.startswith(REMOTE) else env_spec.id, missing)
    reason = env_spec.unavailable_reason()
    if reason:
        raise SandboxUnavailable(f"{env_spec.id} cannot be played here. {reason}")


def _call_factory(
    env_id: str, factory: Callable[..., object], arguments: Mapping[str, Any], kwargs: Mapping[str, Any]
) -> Env:
    """Call `factory` with `arguments` and return an environment that keeps the contract.

    Args:
        kwargs: the arguments that the caller of `make` chose, for the message.

    Raises:
        InvalidArgument: if the values of `kwargs` do not fit, or the factory returns something else.
    """
    try:
        env = factory(**arguments)
    except TypeError as error:
        if not kwargs or inspect.isabstract(factory):
            raise
        listing = ", ".join(f"{name}={value!r:.40}" for name, value in kwargs.items())
        raise InvalidArgument(f"{env_id} cannot be made with {listing}: {error}.") from error
    if not isinstance(env, Env):
        raise InvalidArgument(f"{env_id} gave a {type(env).__name__}, which is no gem.Env: derive its class from that.")
    if isinstance(env, EnvWrapper) or _keeps_contract(type(env)):
        return env
    from gem.compat.adapter import GemEnvAdapter  # noqa: PLC0415 (only for environments that define reset themselves)

    return GemEnvAdapter(env)


def _undisturbed_rng(env_spec: EnvSpec, factory: Callable[..., object]) -> AbstractContextManager[None]:
    """Return a context in which `factory` may draw from the generators of the process without disturbing anyone."""
    if isinstance(factory, type) and issubclass(factory, Env) and _keeps_contract(factory):
        return nullcontext()
    if not env_spec.may_hold_rng:
        return nullcontext()
    from gem.compat.global_rng import nothing_installed  # noqa: PLC0415 (only for environments written for GEM)

    return nothing_installed()


def _keeps_contract(env_class: type[Env]) -> bool:
    """Whether a class begins its episodes with `Env.reset`, which calls `_start`."""
    return env_class.reset is Env.reset or env_class._start is not Env._start  # noqa: SLF001 (of the engine's own class)


def _add_opponent(env: Env, opponent: str | None = None, seat: int | None = None) -> Env:
    """Return the environment with `opponent` in the other seats, if there is one."""
    from gem.wrappers.opponent import Opponent  # noqa: PLC0415 (only where there are several seats)

    if opponent is not None:
        return Opponent(env, opponent, seat, added_by_make=True)
    if seat is not None:
        raise InvalidArgument("A seat is chosen together with an opponent: opponent='expert', seat=0.")
    return env


def _add_tools(
    env: Env,
    tools: Sequence[ToolSpec] = (),
    tool_format: Literal["tags", "native"] = "tags",
    max_tool_uses: int | None = DEFAULT_MAX_TOOL_USES,
) -> Env:
    """Return the environment with `tools` around it, if there are any."""
    from gem.tools.tool_env_wrapper import ToolEnvWrapper  # noqa: PLC0415 (only where there are tools)

    if not tools:
        return env
    wrapped = ToolEnvWrapper(env, tools, max_tool_uses=max_tool_uses, format=tool_format, added_by_make=True)
    env_kwargs = env.unwrapped.env_kwargs
    if "tools" in env_kwargs:  # a record needs plain data in the place of tool objects
        env_kwargs["tools"] = wrapped.described_tools
    return wrapped
