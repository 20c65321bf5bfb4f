"""Environments that specifications have been checked with, so that each is made once and not for every specification.

The plan of a study has hundreds of specifications with the same few environments, and is read on every page about it.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from gem import registry
from gem.factory import make_wrapped
from gem.registry import EnvSpec

MOST_KEPT = 2_048
"""Checks that are remembered; the one that was not needed for longest is forgotten first."""
_Key = tuple[str, str, str]
_found: OrderedDict[_Key, tuple[EnvSpec, int]] = OrderedDict()
_lock = threading.Lock()


def count_seats(env_id: str, env_kwargs: Mapping[str, Any], wrappers: Sequence[Mapping[str, Any]]) -> int:
    """The number of seats of an environment, which is made with its wrappers if that has not succeeded before.

    Raises:
        UsageError: if it cannot be made; that is not remembered, because what was missing may come.
    """
    spec = registry.spec(env_id)
    try:
        key = env_id, json.dumps(env_kwargs, sort_keys=True), json.dumps(list(wrappers), sort_keys=True)
    except (TypeError, ValueError):  # arguments that are no plain data are compared by nothing
        return _made(env_id, env_kwargs, wrappers)
    with _lock:
        known = _found.get(key)
        if known is not None and known[0] is spec:
            _found.move_to_end(key)
            return known[1]
    seats = _made(env_id, env_kwargs, wrappers)
    with _lock:
        _found[key] = spec, seats
        if len(_found) > MOST_KEPT:
            _found.popitem(last=False)
    return seats


def _made(env_id: str, env_kwargs: Mapping[str, Any], wrappers: Sequence[Mapping[str, Any]]) -> int:
    env = make_wrapped(env_id, env_kwargs, wrappers)
    seats = env.seats
    env.close()
    return seats
