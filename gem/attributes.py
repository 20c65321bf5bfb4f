"""The attributes of an environment as plain JSON and back, which is the default for `Env.get_state` and `set_state`.

Types that JSON has are written as they are. Tuples, sets, dictionaries, infinite numbers, bytes, patterns and random
generators are written as an object with one entry, the name of the type. Any other type raises an error that names the
attribute, because a state without it would silently continue in another way. Two attributes that refer to the same list
refer to two equal lists after a round trip.
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

NOT_STATE = frozenset({"spec", "env_kwargs", "_constructor_args"})
"""Attributes that are not part of the state, because they follow from how the environment was made."""


def pack_attributes(env: object) -> dict[str, Any]:
    """Return all attributes of `env` that may change, as plain JSON.

    Raises:
        MissingMethod: if the type of one of them is not supported.
    """
    packed = {}
    for name, value in vars(env).items():
        if name in NOT_STATE:
            continue
        try:
            packed[name] = _pack(value)
        except (TypeError, RecursionError) as error:
            raise MissingMethod(
                f"{type(env).__name__} has {_type_with_article(value)} in the attribute {name!r}, which no JSON can "
                "hold. Define get_state() and set_state(state), or keep in attributes only numbers, texts, lists, "
                'tuples, sets and dictionaries. With register(..., replay="none") no state is asked for.'
            ) from error
    return packed


def unpack_attributes(env: object, packed: Mapping[str, Any]) -> None:
    """Replace the attributes of `env` by those that `pack_attributes` returned."""
    attributes = vars(env)
    for name in attributes.keys() - packed.keys() - NOT_STATE:
        del attributes[name]
    attributes.update({name: _unpack(value) for name, value in packed.items()})


def _type_with_article(value: object) -> str:
    """Return the name of the type with its article: "a Socket", "an Engine"."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def _pack(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
        return value
    if kind is list:
        return [_pack(item) for item in value]
    if kind not in CODECS:
        raise TypeError(kind.__name__)
    name, encode, _ = CODECS[kind]
    return {name: encode(value)}


def _unpack(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpack(item) for item in value]
    if isinstance(value, dict):
        ((name, inner),) = value.items()
        return DECODERS[name](inner)
    return value


def _pack_each(values: Any) -> list[Any]:
    return [_pack(value) for value in values]


def _pack_sorted(values: Any) -> list[Any]:
    return [_pack(value) for value in sorted(values, key=repr)]  # the order of a set depends on the process


def _unpack_random(packed: list[Any]) -> random.Random:
    rng = unpack_generator(packed[0])
    version, words, _ = rng.getstate()
    rng.setstate((version, words, packed[1]))
    return rng


CODECS: Mapping[type, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    float: ("float", str, float),  # only infinities and NaN, which JSON does not have
    tuple: ("tuple", _pack_each, lambda packed: tuple(_unpack(packed))),
    set: ("set", _pack_sorted, lambda packed: set(_unpack(packed))),
    frozenset: ("frozenset", _pack_sorted, lambda packed: frozenset(_unpack(packed))),
    dict: ("dict", lambda value: _pack_each(map(list, value.items())), lambda packed: dict(_unpack(packed))),
    deque: (
        "deque",
        lambda value: [value.maxlen, _pack_each(value)],
        lambda packed: deque(_unpack(packed[1]), packed[0]),
    ),
    bytes: ("bytes", lambda value: base64.b85encode(value).decode(), base64.b85decode),
    re.Pattern: ("pattern", lambda value: [value.pattern, value.flags], lambda packed: re.compile(*packed)),
    random.Random: ("generator", lambda value: [pack_generator(value), value.getstate()[2]], _unpack_random),
}
"""For each type that JSON does not have: its name in the state, its encoder and its decoder."""
DECODERS = {name: decode for name, _, decode in CODECS.values()}
"""The decoders by the name of the type."""
