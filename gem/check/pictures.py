"""The promises about views: every view can be drawn, and the environment understands every action that it offers.

The shapes of views are read from the annotations in `gem.views`, so a kind that is added there is checked as well.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any, Literal, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

from gem import views
from gem.check.promise import SEEDS, BrokenPromise, Promise, Subject, play_on, shorten
from gem.seats import SPECTATOR

MAX_OFFERS = 200
"""The maximum number of actions of one view that are tried."""
KINDS: dict[str, Any] = {get_args(get_type_hints(kind)["kind"])[0]: kind for kind in get_args(views.View)}
"""The classes of views by their kind."""


def is_drawable(subject: Subject) -> None:
    env = subject.make()
    for seed in SEEDS:
        env.reset(seed=seed)
        turns = play_on(env)
        while True:
            for seat in (*range(env.seats), SPECTATOR):
                expect_drawable(env.view(seat))
            if next(turns, None) is None:
                break


def offers_valid_actions(subject: Subject) -> None:
    env, other = subject.make(), subject.make()
    for seed in SEEDS[:2]:
        env.reset(seed=seed)
        state = env.get_state()
        for action in sorted(offers(env.view(env.to_act[0])))[:MAX_OFFERS]:
            other.set_state(state)
            *_, info = other.step(action)
            if info.get("error") == "format":
                raise BrokenPromise(f"The picture offers {shorten(action)}, which the environment does not understand.")


# ------------------------------------------------------------------ shapes


def expect_drawable(view: Any) -> None:
    """Check that a page can draw this view (see `gem.views`).

    Raises:
        BrokenPromise: if it cannot.
    """
    json.dumps(view)
    kind = KINDS.get(view.get("kind"))
    if kind is None:
        raise BrokenPromise(f"The view's kind is {view.get('kind')!r}; there is {', '.join(KINDS)}.")
    expect_shape("The view", view, kind)
    if not view["name"]:
        raise BrokenPromise("The view has an empty name.")
    if view["kind"] == "grid":
        lengths = {len(row) for row in view["rows"]}
        if len(lengths) != 1:
            raise BrokenPromise(f"The rows of the grid have different lengths: {sorted(lengths)}.")
    if "compose" in view:
        _expect_composable(view)


def expect_shape(path: str, value: Any, hint: Any) -> None:
    """Check that a value fits an annotation.

    Args:
        path: where in the view the value is, for the message.

    Raises:
        BrokenPromise: if it does not fit.
    """
    origin, arguments = _parts_of(hint)
    if origin is TypedDict:
        _expect_fields(path, value, hint)
    elif origin is tuple:
        if not isinstance(value, list | tuple) or len(value) != len(arguments):
            raise BrokenPromise(f"{path} is {shorten(value)}, which are not {len(arguments)} values.")
        for index, (item, inner) in enumerate(zip(value, arguments, strict=True)):
            expect_shape(f"{path}[{index}]", item, inner)
    elif origin is list or origin is dict:
        _expect_type(origin, path, value)
        for at, item in value.items() if origin is dict else enumerate(value):
            expect_shape(f"{path}[{at!r}]", item, arguments[-1])
    elif origin is None and isinstance(hint, type):
        _expect_type(hint, path, value)


def _expect_fields(path: str, value: Any, hint: Any) -> None:
    hints = _hints(hint)
    _expect_keys(path, value, hints, hint.__required_keys__)
    for name, field in value.items():
        origin, arguments = _parts_of(hints[name])
        if origin is Literal and field not in arguments:
            raise BrokenPromise(f"{path} has the {name} {field!r}; there is {', '.join(map(str, arguments))}.")
        expect_shape(f"{'Its' if path == 'The view' else path} {name}", field, hints[name])


@cache
def _parts_of(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """The origin and the arguments of an annotation, many thousands of which are compared with a view."""
    return (TypedDict, ()) if is_typeddict(hint) else (get_origin(hint), get_args(hint))


@cache
def _hints(hint: Any) -> dict[str, Any]:
    return get_type_hints(hint)


def _expect_type(expected_type: type, path: str, value: Any) -> Any:
    if not isinstance(value, expected_type):
        raise BrokenPromise(f"{path} is {shorten(value)}, which is no {expected_type.__name__}.")
    return value


def _expect_keys(path: str, fields: Any, hints: Mapping[str, Any], required: Collection[str]) -> None:
    missing, unknown = sorted(set(required) - set(fields)), sorted(set(fields) - set(hints))
    if missing or unknown:
        problem = f"lacks {missing[0]!r}" if missing else f"has {unknown[0]!r}, which nothing draws"
        raise BrokenPromise(f"{path} {problem}.")
    if fields.get("label") == "" and fields.get("tone") != "void":
        raise BrokenPromise(f"{path} has no label, so a screen reader has nothing to say.")


# ------------------------------------------------------------------ offers


def offers(view: Any) -> set[str]:
    """Return every action that a click or a key on the view sends, and for composed actions the first and the last."""
    actions = set(_iter_actions(view))
    if view["kind"] == "grid":
        actions |= set(view.get("keys", {}).values())
    if "compose" in view:
        actions |= set(composed(view))
    return actions


def _iter_actions(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        yield from (part[name] for name in ("act", "alt") if name in part)
    for inner in _children(part):
        yield from _iter_actions(inner)


def composed(view: Any) -> Iterator[str]:
    """Yield the actions that are composed of the first, and of the last, part that each pick can be."""
    compose, parts = view["compose"], _parts(view)
    picks = compose["picks"]
    for length in {len(picks), compose.get("fewest", len(picks))}:
        for end in (0, -1):
            picked = [parts[pick][end] for pick in picks[:length]]
            yield compose["before"] + compose["between"].join(picked) + compose["after"]


def _parts(view: Any) -> dict[str, list[str]]:
    parts: dict[str, list[str]] = {"place": [], "key": []}
    _gather(view, "place", parts)
    return parts


def _gather(part: Any, pick: str, parts: dict[str, list[str]]) -> None:
    """Collect the parts that can be picked: those under `keys` are keys, all others are places."""
    if isinstance(part, dict):
        if "part" in part:
            parts[pick].append(part["part"])
        for name, inner in part.items():
            _gather(inner, "key" if name == "keys" else pick, parts)
        return
    for inner in _children(part):
        _gather(inner, pick, parts)


def _expect_composable(view: Any) -> None:
    compose, parts = view["compose"], _parts(view)
    if len(compose["prompts"]) != len(compose["picks"]):
        raise BrokenPromise(
            f"The action takes {len(compose['picks'])} picks and has {len(compose['prompts'])} prompts."
        )
    for pick in compose["picks"]:
        if not parts[pick]:
            raise BrokenPromise(f"The action takes a {pick}, and nothing on the view can be picked as one.")


def _children(part: Any) -> list[Any]:
    if isinstance(part, dict):
        return list(part.values())
    return list(part) if isinstance(part, list | tuple) else []


PROMISES: tuple[Promise, ...] = (
    Promise(
        "Its picture can be drawn at every turn.",
        is_drawable,
        "view() returns one of the kinds in gem.views, in the shape that is annotated there: with a name, and a "
        "label for everything that a screen reader should speak of.",
    ),
    Promise(
        "Clicks and keys send actions that are understood.",
        offers_valid_actions,
        "`act`, `alt` and `keys` of the view hold whole actions, exactly as an agent would write them; the picks of "
        "`compose` make such an action together.",
        exact=True,
    ),
)
