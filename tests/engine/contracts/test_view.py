"""Views offer something to whoever is to act, and to nobody else; their shapes are what `gemweb check` looks at."""

import gem
from gem.check.pictures import offers
from tests.engine.episodes import random_turns


def test_who_is_to_act_is_offered_something_that_is_understood(env: gem.Env) -> None:
    env.reset(seed=1)
    check_offers(env)
    for turn, (*_, info) in enumerate(random_turns(env), start=1):
        check_offers(env)
        if turn == 3 and "success" not in info:
            check_they_are_understood(env)


def check_offers(env: gem.Env) -> None:
    for seat in range(env.seats):
        view = env.view(seat)
        if view["kind"] not in ("text", "image", "code"):  # there actions are typed
            assert bool(offers(view)) == (seat in env.to_act)
        if view["kind"] == "chat":
            assert all(message["who"] and message["text"] for message in view["messages"])


def check_they_are_understood(env: gem.Env) -> None:
    state = env.get_state()
    other = env.spawn()
    for act in sorted(offers(env.view(env.to_act[0]))):
        other.set_state(state)
        *_, info = other.step(act)
        assert info.get("error") != "format", act


def test_looking_changes_nothing(env: gem.Env) -> None:
    env.reset(seed=2)
    before = env.get_state()
    assert [env.view(seat) for seat in range(env.seats)] == [env.view(seat) for seat in range(env.seats)]
    assert env.get_state() == before
