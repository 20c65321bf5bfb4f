"""The promises about pictures: every view can be drawn, and what it offers is understood.

The shapes are those of `gem.views`, read from its annotations: a kind of view that is added there is known here.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

from gem import views
from gem.check.promise import SEEDS, Broken, Promise, Subject, play_on, short
from gem.seats import SPECTATOR

OFFERS = 200
"""Actions of one picture that are tried."""
KINDS: dict[str, Any] = {get_args(get_type_hints(kind)["kind"])[0]: kind for kind in get_args(views.View)}
"""The kinds of views by name."""


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
        for action in sorted(offers(env.view(env.to_act[0])))[:OFFERS]:
            other.set_state(state)
            *_, info = other.step(action)
            if info.get("error") == "format":
                raise Broken(f"The picture offers {short(action)}, which the environment does not understand.")


# ------------------------------------------------------------------ shapes


def expect_drawable(view: Any) -> None:
    """Raise `Broken` if a page could not draw this view (see `gem.views`)."""
    json.dumps(view)
    kind = KINDS.get(view.get("kind"))
    if kind is None:
        raise Broken(f"The view's kind is {view.get('kind')!r}; there is {', '.join(KINDS)}.")
    expect_shape("The view", view, kind)
    if not view["name"]:
        raise Broken("The view has an empty name.")
    if view["kind"] == "grid":
        lengths = {len(row) for row in view["rows"]}
        if len(lengths) != 1:
            raise Broken(f"The rows of the grid have different lengths: {sorted(lengths)}.")
    if "compose" in view:
        _expect_composable(view)


def expect_shape(where: str, value: Any, hint: Any) -> None:
    """Raise `Broken` if the value, which is found at `where`, is not what the annotation says."""
    if is_typeddict(hint):
        _expect_fields(where, value, hint)
        return
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        if not isinstance(value, list | tuple) or len(value) != len(arguments):
            raise Broken(f"{where} is {short(value)}, which are not {len(arguments)} values.")
        for index, (item, inner) in enumerate(zip(value, arguments, strict=True)):
            expect_shape(f"{where}[{index}]", item, inner)
    elif origin is list or origin is dict:
        _as(origin, where, value)
        for at, item in value.items() if origin is dict else enumerate(value):
            expect_shape(f"{where}[{at!r}]", item, arguments[-1])
    elif origin is None and isinstance(hint, type):
        _as(hint, where, value)


def _expect_fields(where: str, value: Any, hint: Any) -> None:
    hints = _hints(hint)
    _expect_keys(where, value, hints, hint.__required_keys__)
    for name, given in value.items():
        if get_origin(hints[name]) is Literal and given not in get_args(hints[name]):
            raise Broken(f"{where} has the {name} {given!r}; there is {', '.join(map(str, get_args(hints[name])))}.")
        expect_shape(f"{'Its' if where == 'The view' else where} {name}", given, hints[name])


@cache
def _hints(hint: Any) -> dict[str, Any]:
    return get_type_hints(hint)


def _as(wanted: type, where: str, value: Any) -> Any:
    if not isinstance(value, wanted):
        raise Broken(f"{where} is {short(value)}, which is no {wanted.__name__}.")
    return value


def _expect_keys(where: str, given: Any, known: Mapping[str, Any], required: Collection[str]) -> None:
    missing, unknown = sorted(set(required) - set(given)), sorted(set(given) - set(known))
    if missing or unknown:
        problem = f"lacks {missing[0]!r}" if missing else f"has {unknown[0]!r}, which nothing draws"
        raise Broken(f"{where} {problem}.")
    if given.get("label") == "" and given.get("tone") != "void":
        raise Broken(f"{where} has no label, so a screen reader has nothing to say.")


# ------------------------------------------------------------------ offers


def offers(view: Any) -> set[str]:
    """Every action that a click or a key on the view sends; of actions of several picks, the first and the last."""
    found = set(_acts(view))
    if view["kind"] == "grid":
        found |= set(view.get("keys", {}).values())
    if "compose" in view:
        found |= set(composed(view))
    return found


def _acts(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        yield from (part[name] for name in ("act", "alt") if name in part)
    for inner in _inside(part):
        yield from _acts(inner)


def composed(view: Any) -> Iterator[str]:
    """The actions made of the first and of the last part that each pick can be."""
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
    """Collect what can be picked: whatever lies under `keys` is a key, all else a place."""
    if isinstance(part, dict):
        if "part" in part:
            parts[pick].append(part["part"])
        for name, inner in part.items():
            _gather(inner, "key" if name == "keys" else pick, parts)
        return
    for inner in _inside(part):
        _gather(inner, pick, parts)


def _expect_composable(view: Any) -> None:
    compose, parts = view["compose"], _parts(view)
    if len(compose["prompts"]) != len(compose["picks"]):
        raise Broken(f"The action takes {len(compose['picks'])} picks and has {len(compose['prompts'])} prompts.")
    for pick in compose["picks"]:
        if not parts[pick]:
            raise Broken(f"The action takes a {pick}, and nothing on the view can be picked as one.")


def _inside(part: Any) -> list[Any]:
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
