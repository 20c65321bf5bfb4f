"""The attributes of an environment as plain JSON and back: its state, where its class does not say what that is.

What JSON has is written as it is, everything else in a dictionary with the name of its kind: tuples, sets,
dictionaries, infinite numbers, bytes, patterns, generators. What is none of these is refused by name, because a state
that leaves something out would go on differently without a word. Two attributes that hold the same list hold two equal
ones afterwards.
"""

from __future__ import annotations

import base64
import math
import random
import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from gem.errors import MissingMethod
from gem.rng import pack_generator, unpack_generator

AS_MADE = frozenset({"spec", "env_kwargs", "_made_with"})
"""What follows from how an environment was made."""


def pack_attributes(env: object) -> dict[str, Any]:
    """All attributes of `env` that may change, as plain JSON.

    Raises:
        MissingMethod: if one is of a kind that cannot be written down.
    """
    packed = {}
    for name, value in vars(env).items():
        if name in AS_MADE:
            continue
        try:
            packed[name] = _pack(value)
        except (TypeError, RecursionError) as error:
            raise MissingMethod(
                f"{type(env).__name__} has {_a(value)} in the attribute {name!r}, which no JSON can hold. "
                "Define get_state() and set_state(state), or keep in attributes only numbers, texts, lists, tuples, "
                'sets and dictionaries. With register(..., replay="none") no state is asked for.'
            ) from error
    return packed


def unpack_attributes(env: object, packed: Mapping[str, Any]) -> None:
    """Give `env` the attributes that `pack_attributes` wrote down, and no others."""
    own = vars(env)
    for name in own.keys() - packed.keys() - AS_MADE:
        del own[name]
    own.update({name: _unpack(value) for name, value in packed.items()})


def _a(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def _pack(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
        return value
    if kind is list:
        return [_pack(one) for one in value]
    if kind not in WRITTEN:
        raise TypeError(kind.__name__)
    name, write, _ = WRITTEN[kind]
    return {name: write(value)}


def _unpack(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpack(one) for one in value]
    if isinstance(value, dict):
        ((name, inner),) = value.items()
        return READ[name](inner)
    return value


def _pack_each(values: Any) -> list[Any]:
    return [_pack(one) for one in values]


def _pack_sorted(values: Any) -> list[Any]:
    return [_pack(one) for one in sorted(values, key=repr)]  # the order of a set differs from process to process


def _unpack_generator(written: list[Any]) -> random.Random:
    rng = unpack_generator(written[0])
    version, words, _ = rng.getstate()
    rng.setstate((version, words, written[1]))
    return rng


WRITTEN: Mapping[type, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    float: ("float", str, float),  # infinite ones, which JSON does not have
    tuple: ("tuple", _pack_each, lambda written: tuple(_unpack(written))),
    set: ("set", _pack_sorted, lambda written: set(_unpack(written))),
    frozenset: ("frozenset", _pack_sorted, lambda written: frozenset(_unpack(written))),
    dict: ("dict", lambda value: _pack_each(map(list, value.items())), lambda written: dict(_unpack(written))),
    deque: (
        "deque",
        lambda value: [value.maxlen, _pack_each(value)],
        lambda written: deque(_unpack(written[1]), written[0]),
    ),
    bytes: ("bytes", lambda value: base64.b85encode(value).decode(), base64.b85decode),
    re.Pattern: ("pattern", lambda value: [value.pattern, value.flags], lambda written: re.compile(*written)),
    random.Random: ("generator", lambda value: [pack_generator(value), value.getstate()[2]], _unpack_generator),
}
"""Kind to its name, how it is written, and how it is read."""
READ = {name: read for name, _, read in WRITTEN.values()}
