"""Checks of keyword arguments against the signature of a class or function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from gem.errors import InvalidArgument
from gem.validation.near import did_you_mean

_WHOLE_NUMBER = ("int", "int | None", "None | int", "Optional[int]", int, int | None)
"""Annotations of whole numbers, as text in modules that postpone their evaluation."""
_NUMBER = ("float", "float | None", "None | float", "Optional[float]", float, float | None)


def parameters_of(factory: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """The parameters of a function, or those of the constructor of a class.

    Of a class that inherits both `__init__` and `__new__`, `inspect.signature` shows the parameters of `__new__` in
    Python 3.11.2, and `gem.core.RecordConstructorArgs` gives all environments one with `*args, **kwargs`.
    """
    constructor = inspect.getattr_static(factory, "__init__", None) if inspect.isclass(factory) else None
    if inspect.isfunction(constructor):
        _, *others = inspect.signature(constructor).parameters.items()
        return dict(others)
    return inspect.signature(factory).parameters


def check_arguments(
    factory: Callable[..., Any], names: Iterable[str], label: str, other_names: Iterable[str] = ()
) -> None:
    """Check that `factory` takes keyword arguments of these names.

    Args:
        label: what the message calls the factory.
        other_names: further names that the message may suggest, because the caller handles them itself.

    Raises:
        InvalidArgument: on the first unknown name; the message suggests the nearest known one.
    """
    parameters = parameters_of(factory)
    for name in names:
        if not _has_parameter(parameters, name):
            hint = did_you_mean(name, [*parameters, *other_names], f"It takes {', '.join(parameters)}.")
            raise InvalidArgument(f"{label} takes no argument {name!r}. {hint}")


def accepts(factory: Callable[..., Any], name: str) -> bool:
    """Whether `factory` can be called with the keyword argument `name`."""
    return _has_parameter(parameters_of(factory), name)


def required_arguments(wrapper: Callable[..., Any]) -> list[str]:
    """The names of the arguments without a default that `wrapper` takes after the environment."""
    _, *others = parameters_of(wrapper).values()
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [other.name for other in others if other.default is inspect.Parameter.empty and other.kind in named]


def check_numbers(factory: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Check the arguments that `factory` annotates as `int` or `float`, also with `| None`.

    No bool and no string is a number, and no float is a whole number. The seed is left out: its own check says more.

    Raises:
        InvalidArgument: on the first that is something else.
    """
    is_hashable = getattr(type(factory), "__hash__", None) is not None
    find = _numbers if is_hashable else _numbers.__wrapped__
    for name, kind, others in find(factory):
        if isinstance(arguments.get(name), others):
            raise InvalidArgument(f"{name} must be {kind}, not {arguments[name]!r:.80}.")


@lru_cache(maxsize=1024)
def _numbers(factory: Callable[..., Any]) -> list[tuple[str, str, Any]]:
    """The name of each parameter that is a number, what it must be, and the types that it must not have."""
    numbers = []
    for one in parameters_of(factory).values():
        if one.annotation in _WHOLE_NUMBER and one.name != "seed":
            numbers.append((one.name, "a whole number", bool | float | str))
        elif one.annotation in _NUMBER:
            numbers.append((one.name, "a number", bool | str))
    return numbers


def _has_parameter(parameters: Mapping[str, inspect.Parameter], name: str) -> bool:
    return name in parameters or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
