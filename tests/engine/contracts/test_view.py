"""Views are data of the kinds that `gem.views` describes, and what they offer can be done."""

import json
from typing import Any, get_args, get_type_hints

import gem
from gem import views
from tests.engine.episodes import random_turns

CELL_KEYS = set(get_type_hints(views.Cell))


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
    view: Any = env.view()
    assert json.loads(json.dumps(view))["kind"] == view["kind"]
    kinds = {"grid": views.GridView, "text": views.TextView}
    kind = kinds[view["kind"]]
    assert set(view) <= set(kind.__annotations__)
    assert kind.__required_keys__ <= set(view)
    assert view["name"]
    if view["kind"] == "grid":
        check_grid(env, view)


def check_grid(env: gem.Env, view: Any) -> None:
    assert len({len(row) for row in view["rows"]}) == 1
    for row in view["rows"]:
        for cell in row:
            assert set(cell) <= CELL_KEYS
            assert cell["tone"] in get_args(views.Tone)
            assert "piece" not in cell or cell["piece"] in get_args(views.Piece)
            assert cell["label"] or cell["tone"] == "void"
    assert bool(acts(view)) != getattr(env, "over", False)


def acts(view: Any) -> set[str]:
    """Every action that the view offers."""
    found = set(view.get("keys", {}).values())
    for row in view.get("rows", ()):
        for cell in row:
            found |= {cell[name] for name in ("act", "alt") if name in cell}
    return found


def check_acts(env: gem.Env) -> None:
    state = env.get_state()
    other = env.spawn()
    for act in sorted(acts(env.view())):
        other.set_state(state)
        *_, info = other.step(act)
        assert info.get("error") != "format", act


def test_looking_changes_nothing(env: gem.Env) -> None:
    env.reset(seed=2)
    before = env.get_state()
    assert env.view() == env.view()
    assert env.get_state() == before
