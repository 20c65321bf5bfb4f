"""Ids and arguments of GEM's that `gem.make` takes although ours are called otherwise."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from gem.compat.aliases import ENVIRONMENTS
from gem.errors import InvalidArgument
from gem.registry import ENV_REGISTRY

WITHOUT_EFFECT = frozenset({"verbose", "use_mp", "max_workers", "sandbox_type", "load_from_cache_file"})
"""Arguments of GEM's environments over datasets that only say how it computes, prints or caches."""
OF_PROBLEMS = WITHOUT_EFFECT | {"dataset_name"}
"""Arguments of GEM's environments over datasets that ours have under another name, or do not need."""


def translated(env_id: str, kwargs: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """An id of GEM's and arguments of GEM's as ours; what is ours already stays.

    Raises:
        InvalidArgument: if the id is a list or the like, or the same thing is said twice.
    """
    arguments = dict(kwargs)
    if not isinstance(env_id, Hashable):
        raise InvalidArgument(f"An environment is made by its id, such as 'game:Wordle-v0', not {env_id!r:.60}.")
    if env_id not in ENV_REGISTRY and env_id in ENVIRONMENTS:
        env_id, own_arguments = ENVIRONMENTS[env_id]
        return env_id, {**own_arguments, **arguments}
    if not OF_PROBLEMS.isdisjoint(arguments) and env_id in ENV_REGISTRY and _is_problem(env_id):
        arguments = {name: value for name, value in arguments.items() if name not in WITHOUT_EFFECT}
        name = arguments.pop("dataset_name", "")
        if name and "dataset" in arguments:
            raise InvalidArgument(f"{env_id} takes dataset_name or dataset, not both.")
        if name:
            arguments["dataset"] = name
    return env_id, arguments


def _is_problem(env_id: str) -> bool:
    """Whether the environment is one of ours over a dataset; those that a script registers take GEM's arguments."""
    entry = ENV_REGISTRY[env_id].entry_point
    return isinstance(entry, str) and entry.startswith("gem.envs.problems.")
