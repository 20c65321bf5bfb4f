"""The wrappers that an evaluation may put around its environments, besides its turn limit and its tools.

They change how an agent reads and writes, not what it earns. Wrappers of rewards are for training, because with them a
return is no longer that of the environment. `time_limit`, `opponent` and `tools` follow from other fields of the
specification, and chat templates belong to the agent that has the tokenizer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gem.errors import InvalidArgument
from gem.validation.near import did_you_mean

OFFERED: Mapping[str, str] = {
    "normalize_action": "reads actions that are written differently: without a box, in <answer> tags, after thoughts",
    "compact": "shows the board as plain text, without rules and history",
    "concat": "shows all earlier observations with each new one, to agents without a memory",
    "concat_with_action": "the same, with the agent's actions between them",
}
"""The names and what each does. Their order is the one in which they are put around an environment, innermost first."""
MAX_HISTORY = 1000
MAX_LONGEST = 10_000


def check(wrappers: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Check the wrappers of a specification, and return them in their canonical order.

    Raises:
        InvalidArgument: if one is unknown, named twice, contradicts another one, or has settings that it does not take.
    """
    by_name: dict[str, dict[str, Any]] = {}
    for wrapper in wrappers:
        name = str(wrapper.get("name", ""))
        if name not in OFFERED:
            raise InvalidArgument(f"Evaluations have no wrapper {name!r:.60}. {did_you_mean(name, OFFERED)}")
        if name in by_name:
            raise InvalidArgument(f"The wrapper {name} is named twice.")
        _check_arguments(name, {key: value for key, value in wrapper.items() if key != "name"})
        by_name[name] = dict(wrapper)
    if len({"compact", "concat", "concat_with_action"} & by_name.keys()) > 1:
        raise InvalidArgument(
            "Choose one of compact, concat and concat_with_action: each decides what the agent reads."
        )
    return tuple(by_name[name] for name in OFFERED if name in by_name)


def _check_arguments(name: str, arguments: Mapping[str, Any]) -> None:
    allowed = _ARGUMENTS[name]
    for key, value in arguments.items():
        if key not in allowed:
            raise InvalidArgument(f"The wrapper {name} has no setting {key!r:.60}. {did_you_mean(key, allowed)}")
        kind, most = allowed[key]
        is_fit = isinstance(value, bool) if kind is bool else type(value) is int and 1 <= value <= most
        if not is_fit:
            wanted = "true or false" if kind is bool else f"a whole number from 1 to {most:,}"
            raise InvalidArgument(f"{key} of the wrapper {name} has to be {wanted}, not {json.dumps(value)[:60]}.")


_ARGUMENTS: Mapping[str, Mapping[str, tuple[type, int]]] = {
    "normalize_action": {"box": (bool, 0), "longest": (int, MAX_LONGEST)},
    "compact": {"answer": (bool, 0), "instructions": (bool, 0)},
    "concat": {"max_history_length": (int, MAX_HISTORY)},
    "concat_with_action": {"max_history_length": (int, MAX_HISTORY)},
}
"""The arguments that a specification may set: their type, and the largest number."""


def around(
    limit: Sequence[dict[str, Any]], chosen: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """All wrappers of an episode, innermost first.

    Actions are normalized within the tools, so that a tool reads its call as the agent wrote it.
    """
    inner = [wrapper for wrapper in chosen if wrapper["name"] == "normalize_action"]
    outer = [wrapper for wrapper in chosen if wrapper["name"] != "normalize_action"]
    return [*limit, *inner, *tools, *outer]


def as_word(wrapper: Mapping[str, Any]) -> str:
    """A wrapper as one word, as check boxes and command lines have it: its name, or JSON if it has settings."""
    return str(wrapper["name"]) if wrapper.keys() == {"name"} else json.dumps(wrapper)


def of_word(word: str) -> dict[str, Any]:
    """The wrapper that a word names; `check` says whether there is such a one."""
    if word.startswith("{"):
        try:
            wrapper = json.loads(word)
        except (ValueError, RecursionError):
            wrapper = None
        if isinstance(wrapper, dict):
            return wrapper
    return {"name": word}
