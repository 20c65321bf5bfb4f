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
    parameters = inspect.signature(factory).parameters
    for name in names:
        if not _has_parameter(parameters, name):
            hint = did_you_mean(name, [*parameters, *other_names], f"It takes {', '.join(parameters)}.")
            raise InvalidArgument(f"{label} takes no argument {name!r}. {hint}")


def accepts(factory: Callable[..., Any], name: str) -> bool:
    """Whether `factory` can be called with the keyword argument `name`."""
    return _has_parameter(inspect.signature(factory).parameters, name)


def required_arguments(wrapper: Callable[..., Any]) -> list[str]:
    """The names of the arguments without a default that `wrapper` takes after the environment."""
    _, *others = inspect.signature(wrapper).parameters.values()
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [other.name for other in others if other.default is inspect.Parameter.empty and other.kind in named]


def check_whole_numbers(factory: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Check that the arguments that `factory` annotates as `int` or `int | None` are no bool, float or string.

    The seed is left out: its own check says more.

    Raises:
        InvalidArgument: on the first that is.
    """
    is_hashable = getattr(type(factory), "__hash__", None) is not None
    find = _whole_numbers if is_hashable else _whole_numbers.__wrapped__
    for name in find(factory):
        if isinstance(arguments.get(name), bool | float | str):
            raise InvalidArgument(f"{name} must be a whole number, not {arguments[name]!r:.80}.")


@lru_cache(maxsize=1024)
def _whole_numbers(factory: Callable[..., Any]) -> tuple[str, ...]:
    parameters = inspect.signature(factory).parameters.values()
    return tuple(one.name for one in parameters if one.annotation in _WHOLE_NUMBER and one.name != "seed")


def _has_parameter(parameters: Mapping[str, inspect.Parameter], name: str) -> bool:
    return name in parameters or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
