"""Sokoban's rooms can be solved, differ, and are made from the seed alone."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import gem
from gem.agents.experts.games.sokoban import Room, solve
from gem.envs.games import sokoban_rooms
from gem.envs.games.sokoban_rooms import cells_of, solvable_states
from gem.errors import EnvironmentFailure

DIFFICULTIES = ["game:Sokoban-v0-easy", "game:Sokoban-v0-hard", "game:Sokoban-v0-random"]


@pytest.mark.parametrize("env_id", DIFFICULTIES)
def test_every_room_is_solved_within_three_quarters_of_the_turns(env_id: str) -> None:
    env = gem.make(env_id)
    for seed in range(60):
        _, info = env.reset(seed=seed)
        room = Room.parse(env.start)
        assert room.boxes != room.targets
        assert room.boxes.bit_count() == room.targets.bit_count() == env.boxes
        plan = solve(room, env.max_turns * 3 // 4)
        assert plan.solves
        for letter in plan.moves:
            *_, info = env.step({"u": "\\boxed{up}", "d": "\\boxed{down}"}.get(letter, _sideways(letter)))
        assert info["success"]


def _sideways(letter: str) -> str:
    return "\\boxed{left}" if letter == "l" else "\\boxed{right}"


@pytest.mark.parametrize("env_id", DIFFICULTIES)
def test_rooms_are_distinct(env_id: str) -> None:
    env = gem.make(env_id)
    assert len({env.reset(seed=seed)[1]["suffix"] for seed in range(150)}) >= 149


def test_the_starts_of_a_small_room_are_all_that_can_be_solved_in_time() -> None:
    floor = sum(1 << (row * 6 + col) for row in range(1, 5) for col in range(1, 5))
    targets = 1 << 14 | 1 << 15
    starts = set(solvable_states(6, floor, targets, 1, 9))
    cells = list(cells_of(floor))
    for boxes in (1 << a | 1 << b for a in cells[::3] for b in cells[1::3] if a != b):
        for player in cells[::2]:
            if boxes >> player & 1 or boxes == targets:
                continue
            plan = solve(Room(6, floor, targets, boxes, player), 9)
            assert ((boxes, player) in starts) == plan.solves


def test_rooms_are_the_same_from_many_threads() -> None:
    def room(seed: int) -> str:
        return str(gem.make("game:Sokoban-v0-hard").reset(seed=seed)[1]["suffix"])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(room, range(40))) == [room(seed) for seed in range(40)]


@pytest.mark.parametrize(("side", "boxes"), [(5, 1), (6, 2), (8, 1), (10, 4)])
def test_there_is_a_room_however_many_turns_are_allowed(side: int, boxes: int) -> None:
    env = gem.make("game:Sokoban-v0", dim_room=(side, side), num_boxes=boxes, max_turns=10**9)
    for seed in range(3):
        env.reset(seed=seed)
        assert solve(Room.parse(env.start), env.max_turns).solves


def test_a_room_that_is_not_found_says_what_to_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sokoban_rooms, "MAX_FLOORS", 20)
    with pytest.raises(EnvironmentFailure, match="Take fewer boxes or allow more turns"):
        gem.make("game:Sokoban-v0", dim_room=(16, 16), num_boxes=32, max_turns=1).reset(seed=1)
