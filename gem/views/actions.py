"""All actions that a view offers: those of its cells, keys and links, and those that picks compose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product
from math import prod
from typing import Any

from gem.views.kinds import View

MOST = 300
MOST_PICKS = 5_000
"""Picks that can be combined in more ways, such as the letters of a word, are not listed."""


def offered_actions(view: View, most: int = MOST) -> tuple[list[str], bool]:
    """The actions, each once, in the order of the view; and whether there are more than `most`."""
    found = list(islice(dict.fromkeys(_actions(view)), most + 1))
    return found[:most], len(found) > most


def _actions(view: Any) -> Iterator[str]:
    yield from _direct(view)
    compose = view.get("compose")
    if compose:
        yield from _composed(compose, view)


def _direct(value: Any) -> Iterator[str]:
    """The actions of everything that sends one by itself."""
    if isinstance(value, Mapping):
        for name in ("act", "alt"):
            if isinstance(value.get(name), str):
                yield value[name]
        keys = value.get("keys")
        if isinstance(keys, Mapping):
            yield from keys.values()
        for name, inner in value.items():
            if name not in ("act", "alt"):
                yield from _direct(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _direct(inner)


def _composed(compose: Mapping[str, Any], view: Any) -> Iterator[str]:
    """The actions of all complete picks, unless there are too many. No place is picked twice."""
    parts = {
        "place": list(_parts(view, of_keys=False)),
        "key": list(dict.fromkeys(_parts(view, of_keys=True))),
    }
    most = compose.get("most", [])
    choices = []
    for number, kind in enumerate(compose["picks"]):
        limit = most[number] if number < len(most) else None
        choices.append([part for part in parts[kind] if limit is None or (part.isdecimal() and int(part) <= limit)])
    if prod(map(len, choices)) > MOST_PICKS:
        return
    places = [number for number, kind in enumerate(compose["picks"]) if kind == "place"]
    for picked in product(*choices):
        if len({picked[number] for number in places}) == len(places):
            yield compose["before"] + compose["between"].join(picked) + compose["after"]


def _parts(value: Any, *, of_keys: bool, in_keys: bool = False) -> Iterator[str]:
    """The parts of places (cells and towers), or of keys, in a view."""
    if isinstance(value, Mapping):
        if isinstance(value.get("part"), str) and in_keys == of_keys:
            yield value["part"]
        for name, inner in value.items():
            yield from _parts(inner, of_keys=of_keys, in_keys=in_keys or name == "keys")
    elif isinstance(value, list):
        for inner in value:
            yield from _parts(inner, of_keys=of_keys, in_keys=in_keys)
