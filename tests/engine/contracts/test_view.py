"""Views are data of the kinds that `gem.views` describes, and what they offer can be done."""

import json
from typing import Any, get_args, get_type_hints

import gem
from gem import views
from gem.seats import SPECTATOR
from tests.engine.episodes import random_turns

CELL_KEYS = set(get_type_hints(views.Cell))
KINDS: dict[str, Any] = {get_args(get_type_hints(kind)["kind"])[0]: kind for kind in get_args(views.View)}


def test_every_view_is_well_formed_and_every_act_is_understood(env: gem.Env) -> None:
    env.reset(seed=1)
    check(env)
    check_acts(env)
    for turn, (*_, info) in enumerate(random_turns(env), start=1):
        check(env)
        if turn == 3 and "success" not in info:
            check_acts(env)
    assert "success" in info


def check(env: gem.Env) -> None:
    for seat in (*range(env.seats), SPECTATOR):
        check_view(env.view(seat))
    for seat in range(env.seats):
        if env.view(seat)["kind"] not in ("text", "image", "code"):  # there actions are typed
            assert bool(acts(env.view(seat))) == (seat in env.to_act)


def check_view(view: Any) -> None:
    assert json.loads(json.dumps(view))["kind"] == view["kind"]
    kind = KINDS[view["kind"]]
    assert set(view) <= set(kind.__annotations__)
    assert kind.__required_keys__ <= set(view)
    assert view["name"]


def acts(view: Any) -> set[str]:
    """Every action that the view offers, of those that take several picks some."""
    places, keys = check_parts(view)
    found = {part[name] for part in places + keys for name in ("act", "alt") if name in part}
    if view["kind"] == "grid":
        found |= set(view.get("keys", {}).values())
    if "compose" in view:
        found |= set(composed(view["compose"], places, keys))
    return found


def check_acts(env: gem.Env) -> None:
    state = env.get_state()
    other = env.spawn()
    for act in sorted(acts(env.view(env.to_act[0]))):
        other.set_state(state)
        *_, info = other.step(act)
        assert info.get("error") != "format", act


def check_parts(view: Any) -> tuple[list[Any], list[Any]]:
    """What can be clicked: the places of the board, and the keys beside it."""
    keys = [key for row in view.get("compose", {}).get("keys", []) for key in row]
    if view["kind"] == "grid":
        assert len({len(row) for row in view["rows"]}) == 1
        places = [cell for row in view["rows"] for cell in row]
        check_cells(places)
        return places, keys
    if view["kind"] == "letters":
        check_cells([cell for row in view["rows"] for cell in row["cells"]] + view.get("slots", []))
        assert all(row["label"] for row in view["rows"])
        return [], keys + [key for row in view["keys"] for key in row]
    if view["kind"] == "chat":
        assert all(message["who"] and message["text"] for message in view["messages"])
        return [], keys + [key for row in view.get("keys", []) for key in row]
    return view.get("towers", []) + view.get("links", []), keys


def check_cells(cells: list[Any]) -> None:
    for cell in cells:
        assert set(cell) <= CELL_KEYS
        assert cell["tone"] in get_args(views.Tone)
        assert "piece" not in cell or cell["piece"] in get_args(views.Piece)
        assert cell["label"] or cell["tone"] == "void"


def composed(compose: Any, places: list[Any], keys: list[Any]) -> list[str]:
    """The actions of the first and of the last parts that can be picked."""
    assert len(compose["prompts"]) == len(compose["picks"])
    parts = {
        "place": [place["part"] for place in places if "part" in place],
        "key": [key["part"] for key in keys if "part" in key],
    }
    lengths = {len(compose["picks"]), compose.get("fewest", len(compose["picks"]))}
    return [
        compose["before"]
        + compose["between"].join(parts[pick][end] for pick in compose["picks"][:length])
        + compose["after"]
        for end in (0, -1)
        for length in lengths
    ]


def test_looking_changes_nothing(env: gem.Env) -> None:
    env.reset(seed=2)
    before = env.get_state()
    assert [env.view(seat) for seat in range(env.seats)] == [env.view(seat) for seat in range(env.seats)]
    assert env.get_state() == before
