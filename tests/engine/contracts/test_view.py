"""Views are data of the kinds that `gem.views` describes, and what they offer can be done."""

import json
from typing import Any, get_args, get_type_hints

import gem
from gem import views
from tests.engine.episodes import random_turns


def test_every_view_is_well_formed_and_every_act_is_understood(env: gem.Env) -> None:
    for seed in range(3):
        env.reset(seed=seed)
        check(env)
        for *_, info in random_turns(env):
            check(env)
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
    lengths = {len(row) for row in view["rows"]}
    assert len(lengths) == 1
    acts = list(view.get("keys", {}).values())
    for row in view["rows"]:
        for cell in row:
            assert set(cell) <= set(get_type_hints(views.Cell))
            assert cell["tone"] in get_args(views.Tone)
            assert "piece" not in cell or cell["piece"] in get_args(views.Piece)
            assert cell["label"] or cell["tone"] == "void"
            acts += [cell[name] for name in ("act", "alt") if name in cell]
    over = getattr(env, "over", False)
    assert bool(acts) != over
    for act in set(acts):
        *_, info = env.spawn(same_state=True).step(act)
        assert info.get("error") != "format", act


def test_looking_changes_nothing(env: gem.Env) -> None:
    env.reset(seed=2)
    before = env.get_state()
    assert env.view() == env.view()
    assert env.get_state() == before
