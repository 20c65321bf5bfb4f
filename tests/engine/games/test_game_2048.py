"""2048: sliding, merging, the reward by doublings, and ids that can and cannot be won."""

from __future__ import annotations

import pytest

import gem
from gem import registry
from gem.envs.games.game_2048 import LINES, Game2048, slide, slide_board
from gem.errors import InvalidArgument


@pytest.mark.parametrize(
    ("row", "slid"),
    [
        ((1, 1, 1, 1), (2, 2, 0, 0)),
        ((0, 1, 0, 1), (2, 0, 0, 0)),
        ((2, 1, 1, 0), (2, 2, 0, 0)),
        ((1, 1, 1, 0), (2, 1, 0, 0)),
        ((3, 2, 1, 4), (3, 2, 1, 4)),
    ],
)
def test_a_tile_merges_once_in_a_move(row: tuple[int, ...], slid: tuple[int, ...]) -> None:
    assert slide(row) == slid


def test_columns_move_as_rows_do() -> None:
    board = [LINES[row] for row in ((1, 0, 0, 2), (1, 0, 3, 0), (0, 0, 3, 2), (0, 4, 0, 0))]
    assert [line.row for line in slide_board(board, "up")] == [(2, 4, 4, 3), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)]
    assert [line.row for line in slide_board(board, "down")] == [(0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0), (2, 4, 4, 3)]


def played(board: list[list[int]], move: str, **state: object) -> tuple[Game2048, float, bool, dict[str, object]]:
    env = Game2048(target_tile=16, max_turns=10)
    env.reset(seed=0)
    env.set_state({**env.get_state(), "board": board, "best": 1, "first_best": 1, **state})
    _, reward, terminated, _, info = env.step(f"\\boxed{{{move}}}")
    return env, reward, terminated, info


def test_a_doubling_earns_its_share_of_the_way() -> None:
    _, reward, terminated, _ = played([[1, 1, 0, 0], [0] * 4, [0] * 4, [0] * 4], "LEFT")
    assert reward == pytest.approx(1 / 3)
    assert not terminated


def test_reaching_the_target_wins() -> None:
    _, reward, terminated, info = played([[3, 3, 0, 0], [0] * 4, [0] * 4, [0] * 4], "right", best=3)
    assert reward == pytest.approx(1 / 3)
    assert terminated
    assert info["success"] is True


def test_a_move_that_changes_nothing_is_a_fault_and_adds_no_tile() -> None:
    env, reward, _, info = played([[1, 2, 0, 0], [0] * 4, [0] * 4, [0] * 4], "up")
    assert reward == 0
    assert info["error"] == "rule"
    assert sum(line.empty for line in env.board) == 14


def test_a_board_without_moves_ends_the_episode() -> None:
    full = [[1, 2, 1, 2], [2, 1, 2, 1], [1, 2, 1, 2], [2, 1, 3, 3]]
    for seed in range(20):
        env = Game2048(target_tile=2048, max_turns=10)
        env.reset(seed=seed)
        env.set_state({**env.get_state(), "board": full, "best": 3, "first_best": 1})
        _, _, terminated, _, info = env.step("\\boxed{left}")
        assert terminated == (slide_board(env.board, "left") == slide_board(env.board, "up") == env.board)
        if terminated:
            assert info["success"] is False
            return
    pytest.fail("no new tile blocked the board")


def test_the_published_limits_are_marked_as_hopeless_and_longer_ones_are_not() -> None:
    assert not registry.spec("game:Game2048-v0-hard").winnable
    assert not registry.spec("game:Game2048-v0-extreme-hard").winnable
    assert registry.spec("game:Game2048-v1-hard").winnable
    assert registry.spec("game:Game2048-v1-extreme-hard").winnable


@pytest.mark.parametrize("target", [0, 4, 65, 2**18])
def test_impossible_targets_are_refused(target: int) -> None:
    with pytest.raises(InvalidArgument):
        gem.make("game:Game2048-v0-easy", target_tile=target)
