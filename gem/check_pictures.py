"""Whether a page could draw what `Env.view()` returns, and which actions it offers: a part of `gem.check`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

from gem import views


class Broken(Exception):
    """A promise that an environment does not keep; the message says what happened."""


KINDS: dict[str, Any] = {get_args(get_type_hints(kind)["kind"])[0]: kind for kind in get_args(views.View)}
"""Every kind of view and its description."""


def expect_drawable(view: Any) -> None:
    """Raise `Broken` if a page could not draw this view (see `gem.views`)."""
    json.dumps(view)
    kind = KINDS.get(view.get("kind"))
    if kind is None:
        raise Broken(f"The view's kind is {view.get('kind')!r}; there is {', '.join(KINDS)}.")
    _expect("The view", view, kind)
    if not view["name"]:
        raise Broken("The view has an empty name.")
    if view["kind"] == "grid":
        lengths = {len(row) for row in view["rows"]}
        if len(lengths) != 1:
            raise Broken(f"The rows of the grid have different lengths: {sorted(lengths)}.")


def offers(view: Any) -> set[str]:
    """Every action that a click or a key on the view sends; of those made of several picks, the first and the last."""
    parts = list(_dicts(view))
    found = {part[name] for part in parts for name in ("act", "alt") if name in part}
    if view["kind"] == "grid":
        found |= set(view.get("keys", {}).values())
    if "compose" in view:
        found |= set(_composed(view))
    return found


def _composed(view: Any) -> Iterator[str]:
    compose = view["compose"]
    keys = [key for row in compose.get("keys", view["keys"] if view["kind"] == "letters" else ()) for key in row]
    pickable = {
        "key": [key["part"] for key in keys if "part" in key],
        "place": [part["part"] for part in _dicts({**view, "keys": (), "compose": ()}) if "part" in part],
    }
    picks = compose["picks"]
    for length in {len(picks), compose.get("fewest", len(picks))}:
        for pick in picks[:length]:
            if not pickable[pick]:
                raise Broken(f"The view wants a {pick} to be picked, and none can be.")
        for end in (0, -1):
            chosen = compose["between"].join(pickable[pick][end] for pick in picks[:length])
            yield f"{compose['before']}{chosen}{compose['after']}"


def _dicts(part: Any) -> Iterator[dict[str, Any]]:
    """Every dictionary in a view, itself first."""
    if isinstance(part, dict):
        yield part
        for value in part.values():
            yield from _dicts(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from _dicts(value)


def _expect(where: str, given: Any, hint: Any) -> None:
    """Compare a part of a view with its description."""
    if is_typeddict(hint):
        _expect_keys(where, given, hint)
        for name, value in given.items():
            wanted = _hints(hint)[name]
            if get_origin(wanted) is Literal and value not in get_args(wanted):
                allowed = ", ".join(map(str, get_args(wanted)))
                raise Broken(f"{where} has the {name} {value!r}; there is {allowed}.")
            _expect(f"{where}.{name}", value, wanted)
        if given.get("label") == "" and given.get("tone") != "void":
            raise Broken(f"{where} has no label, so a screen reader has nothing to say.")
    elif get_origin(hint) is list and isinstance(given, list | tuple):
        for place, value in enumerate(given):
            _expect(f"{where}[{place}]", value, get_args(hint)[0])


def _expect_keys(where: str, given: Any, hint: Any) -> None:
    if not isinstance(given, dict):
        raise Broken(f"{where} is {given!r} instead of a dictionary (see gem.views.{hint.__name__}).")
    missing, unknown = sorted(hint.__required_keys__ - set(given)), sorted(set(given) - set(_hints(hint)))
    if missing or unknown:
        problem = f"lacks {missing[0]!r}" if missing else f"has {unknown[0]!r}, which nothing draws"
        raise Broken(f"{where} {problem}.")


@cache
def _hints(hint: Any) -> dict[str, Any]:
    return get_type_hints(hint)
