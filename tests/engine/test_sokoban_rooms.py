"""Sokoban's rooms can be solved, differ, and are made from the seed alone."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import gem
from gem.agents.experts.sokoban import Room, solve

DIFFICULTIES = ["game:Sokoban-v0-easy", "game:Sokoban-v0-hard", "game:Sokoban-v0-random"]


@pytest.mark.parametrize("env_id", DIFFICULTIES)
def test_every_room_is_solved_within_three_quarters_of_the_turns(env_id: str) -> None:
    env = gem.make(env_id)
    for seed in range(60):
        _, info = env.reset(seed=seed)
        room = Room.read(env.start)
        assert not room.boxes & room.targets
        assert room.boxes.bit_count() == room.targets.bit_count() == env.boxes
        plan = solve(room, env.max_turns * 3 // 4)
        assert plan.solves
        for letter in plan.moves:
            *_, info = env.step({"u": "\\boxed{up}", "d": "\\boxed{down}"}.get(letter, _sideways(letter)))
        assert info["success"]


def _sideways(letter: str) -> str:
    return "\\boxed{left}" if letter == "l" else "\\boxed{right}"


def test_hard_rooms_are_distinct() -> None:
    env = gem.make("game:Sokoban-v0-hard")
    assert len({env.reset(seed=seed)[1]["suffix"] for seed in range(300)}) == 300


def test_rooms_are_the_same_from_many_threads() -> None:
    def room(seed: int) -> str:
        return str(gem.make("game:Sokoban-v0-hard").reset(seed=seed)[1]["suffix"])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(room, range(40))) == [room(seed) for seed in range(40)]
