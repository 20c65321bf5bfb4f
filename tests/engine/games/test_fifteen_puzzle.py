"""FifteenPuzzle: the way tiles move, starts that can be solved, and what counts at the limit."""

from collections import Counter

import pytest

import gem
from gem.agents.experts.games.fifteen_puzzle import solve
from gem.envs.games.fifteen_puzzle import FifteenPuzzle, goal


def make(board: list[int], max_turns: int = 10) -> FifteenPuzzle:
    rows = int(len(board) ** 0.5)
    env = gem.make("game:FifteenPuzzle-v0", num_rows=rows, max_turns=max_turns).unwrapped
    assert isinstance(env, FifteenPuzzle)
    env.reset(seed=0)
    env.set_state({**env.get_state(), "board": board})
    return env


@pytest.mark.parametrize(
    ("way", "board"),
    [
        ("up", [1, 2, 3, 4, 8, 5, 6, 0, 7]),
        ("down", [1, 0, 3, 4, 2, 5, 6, 8, 7]),
        ("left", [1, 2, 3, 4, 5, 0, 6, 8, 7]),
        ("right", [1, 2, 3, 0, 4, 5, 6, 8, 7]),
    ],
)
def test_the_way_is_the_tiles(way: str, board: list[int]) -> None:
    env = make([1, 2, 3, 4, 0, 5, 6, 8, 7])
    env.step(f"\\boxed{{{way}}}")
    assert env.board == board


def test_a_move_from_outside_the_board_changes_nothing() -> None:
    env = make([1, 2, 3, 0])
    _, reward, _, _, info = env.step("\\boxed{up}")
    assert (reward, info["error"], env.board) == (0, "rule", [1, 2, 3, 0])


def test_the_ways_are_written_in_small_letters() -> None:
    assert make([1, 2, 0, 3]).step("\\boxed{Left}")[1:3] == (-0.1, True)


@pytest.mark.parametrize("way", ["right", "up"])  # the last move counts whether it was possible or not
def test_the_limit_earns_the_share_of_cells_in_place(way: str) -> None:
    env = make([1, 3, 2, 0], max_turns=1)
    _, reward, terminated, truncated, _ = env.step(f"\\boxed{{{way}}}")
    assert reward == (0.25 if way == "right" else 0.5)
    assert (terminated, truncated) == (False, True)


def test_boards_of_two_rows_are_drawn_alike_often() -> None:
    env = make([1, 2, 3, 0])
    starts = Counter(tuple(env.board) for seed in range(2200) if env.reset(seed=seed))
    assert len(starts) == 11
    assert min(starts.values()) > 140
    assert tuple(goal(2)) not in starts


@pytest.mark.parametrize("max_turns", [1, 2, 3, 10**9])
def test_boards_of_two_rows_can_be_solved_within_fewer_turns(max_turns: int) -> None:
    env = gem.make("game:FifteenPuzzle-v0", max_turns=max_turns).unwrapped
    assert isinstance(env, FifteenPuzzle)
    for seed in range(50):
        env.reset(seed=seed)
        assert len(solve(tuple(env.board), 2)[0]) <= max_turns


@pytest.mark.parametrize(("rows", "max_turns"), [(3, 20), (3, 5), (4, 50)])
def test_larger_boards_can_be_solved_within_the_limit(rows: int, max_turns: int) -> None:
    env = gem.make("game:FifteenPuzzle-v0", num_rows=rows, max_turns=max_turns).unwrapped
    assert isinstance(env, FifteenPuzzle)
    for seed in range(10):
        env.reset(seed=seed)
        assert 0 < len(solve(tuple(env.board), rows)[0]) <= max_turns


def test_starts_differ() -> None:
    env = gem.make("game:FifteenPuzzle-v0-hard").unwrapped
    assert isinstance(env, FifteenPuzzle)
    assert len({tuple(env.board) for seed in range(2000) if env.reset(seed=seed)}) == 2000
