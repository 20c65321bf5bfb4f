"""Wrappers around an environment as the plain data that makes them again."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from gem.core import Env, EnvWrapper
from gem.errors import InvalidArgument

WRAPPER_FACTORY: dict[str, Callable[..., Env]] = {}
"""Name to a function that wraps an environment; `gem.wrappers.wrapper_factory` fills it when `gem.wrappers` is
imported. It stands here because one of those wrappers, the recorder, describes the others."""


def describe(env: Env) -> list[dict[str, Any]]:
    """Describe the wrappers around an environment as plain data for `gem.wrappers.wrap`, innermost first.

    Raises:
        InvalidArgument: if a wrapper is none of the factory's, or has an argument that is no plain data.
    """
    described: list[dict[str, Any]] = []
    while isinstance(env, EnvWrapper):
        if not vars(env).get("added_by_make"):  # an argument of the environment describes it
            described.insert(0, _one(env))
        env = env.env
    return described


def _one(wrapper: EnvWrapper) -> dict[str, Any]:
    arguments = wrapper._arguments()  # noqa: SLF001 (of our own class)
    for name, maker in WRAPPER_FACTORY.items():
        fixed = dict(maker.keywords) if isinstance(maker, partial) else {}
        made = maker.func if isinstance(maker, partial) else maker
        if made is not type(wrapper) or any(arguments.get(key) != value for key, value in fixed.items()):
            continue
        rest = {key: value for key, value in arguments.items() if key not in fixed and value is not None}
        try:
            plain: dict[str, Any] = json.loads(json.dumps(rest))
        except TypeError as error:
            raise InvalidArgument(f"The wrapper {name} has an argument that is no plain data: {error}.") from error
        return {"name": name, **plain}
    raise InvalidArgument(f"{type(wrapper).__name__} is not in WRAPPER_FACTORY, so that it cannot be made by name.")
