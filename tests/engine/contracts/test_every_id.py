"""What is tried in full on one environment of each kind holds for every id in short: its sizes may matter."""

import json
from itertools import islice

import gem
from gem.check.pictures import expect_drawable
from gem.seats import SPECTATOR
from tests.engine.episodes import random_turns

TURNS = 12


def test_it_goes_on_from_its_states_and_can_be_drawn(any_id: str) -> None:
    env, other = gem.make(any_id), gem.make(any_id)
    env.reset(seed=1)
    exact, over = gem.spec(any_id).replay == "exact", False
    for _ in range(TURNS):
        for seat in (*range(env.seats), SPECTATOR):
            expect_drawable(env.view(seat))
        other.set_state(json.loads(json.dumps(env.get_state())))
        assert other.view() == env.view()
        (turn,), (same,) = islice(random_turns(env), 1), islice(random_turns(other), 1)
        assert turn == same or not exact
        over = turn[3] or turn[4]
        assert ("success" in turn[5]) == over
        if over:
            break
    assert over or any(turn[3] or turn[4] for turn in islice(random_turns(env), env.max_turns - TURNS))
