"""Wrappers by name, as command lines, job specifications and recorded episodes write them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from gem.core import Env
from gem.errors import InvalidArgument
from gem.wrappers.episode_tracking_wrapper import EpisodeTrackingWrapper
from gem.wrappers.observation_wrapper import ObservationWrapper
from gem.wrappers.opponent import Opponent
from gem.wrappers.time_limit import TimeLimit

WrapperFn = Callable[..., Env]

WRAPPER_FACTORY: dict[str, WrapperFn] = {
    "opponent": Opponent,
    "time_limit": TimeLimit,
    "concat": partial(ObservationWrapper, include_action=False),
    "concat_with_action": partial(ObservationWrapper, include_action=True),
    "episode_tracking": EpisodeTrackingWrapper,
}
"""Name to a function that wraps an environment. The order is the one in which they belong, innermost first."""


def get_wrapper_fns(wrappers: str | Sequence[str]) -> list[WrapperFn]:
    """The wrapper functions named in `wrappers` ("concat,episode_tracking", or a list), innermost first.

    Raises:
        InvalidArgument: on a name that the factory does not know; the nearest is named.
    """
    names = wrappers.split(",") if isinstance(wrappers, str) else wrappers
    return [_find(name.strip()) for name in names if name.strip()]


def wrap(env: Env, wrappers: Iterable[Mapping[str, Any]]) -> Env:
    """`env` in the wrappers described as plain data, innermost first: `{"name": "time_limit", "max_turns": 20}`.

    Raises:
        InvalidArgument: on an unknown name or arguments that a wrapper does not take.
    """
    for described in wrappers:
        arguments = dict(described)
        name = arguments.pop("name", "")
        try:
            env = _find(name)(env, **arguments)
        except TypeError as error:
            raise InvalidArgument(f"The wrapper {name!r} does not take these arguments: {error}.") from error
    return env


def _find(name: str) -> WrapperFn:
    found = WRAPPER_FACTORY.get(name)
    if found is None:
        near = difflib.get_close_matches(name, WRAPPER_FACTORY, n=1) or list(WRAPPER_FACTORY)
        raise InvalidArgument(f"There is no wrapper {name!r}. Did you mean {' or '.join(near)}?")
    return found
