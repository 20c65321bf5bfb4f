"""Whether what somebody passes is what a class or factory takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gem.errors import InvalidArgument
from gem.validation.near import did_you_mean


def check_arguments(factory: Callable[..., Any], names: Iterable[str], called: str, also: Iterable[str] = ()) -> None:
    """Refuse the keyword arguments `names` that `factory` (`called` so in the message) does not take.

    What else may be given (`also`) is named if it is the nearest.

    Raises:
        InvalidArgument: on the first unknown argument, with the nearest one that there is.
    """
    parameters = inspect.signature(factory).parameters
    for name in names:
        if not _among(parameters, name):
            hint = did_you_mean(name, [*parameters, *also], f"It takes {', '.join(parameters)}.")
            raise InvalidArgument(f"{called} takes no argument {name!r}. {hint}")


def takes(factory: Callable[..., Any], name: str) -> bool:
    """Whether `factory` can be called with the keyword argument `name`."""
    return _among(inspect.signature(factory).parameters, name)


def _among(parameters: Mapping[str, inspect.Parameter], name: str) -> bool:
    return name in parameters or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
