"""Sudoku: one solution each, and answers that say what is the matter."""

from __future__ import annotations

import random

import pytest

import gem
from gem.envs.games.sudoku import Sudoku
from gem.envs.games.sudoku_boards import SudokuSearch, full_board, layout, remove_numbers
from gem.errors import InvalidArgument


def solutions(scale: int, board: list[int], limit: int = 2) -> int:
    """How many ways there are to complete the board, counted up to `limit`, without the game's own search."""
    empty = [cell for cell, number in enumerate(board) if not number]
    if not empty:
        return 1
    options = {cell: allowed(scale, board, cell) for cell in empty}
    cell = min(empty, key=lambda candidate: len(options[candidate]))
    found = 0
    for number in options[cell]:
        found += solutions(scale, [*board[:cell], number, *board[cell + 1 :]], limit - found)
        if found >= limit:
            break
    return found


def allowed(scale: int, board: list[int], cell: int) -> list[int]:
    units = layout(scale)
    taken = {board[other] for unit in units.cell_units[cell] for other in units.units[unit]}
    return [number for number in range(1, scale + 1) if number not in taken]


@pytest.mark.parametrize(("env_id", "seeds"), [("game:Sudoku-v0-easy", 200), ("game:Sudoku-v0-hard", 12)])
def test_every_puzzle_has_exactly_one_solution(env_id: str, seeds: int) -> None:
    env = gem.make(env_id).unwrapped
    assert isinstance(env, Sudoku)
    for seed in range(seeds):
        env.reset(seed=seed)
        assert solutions(env.scale, env.board) == 1, seed
        assert env.board.count(0) <= env.config.clues


def test_a_full_board_keeps_all_rules() -> None:
    for scale in (4, 9):
        board = full_board(scale, random.Random(3))
        for unit in layout(scale).units:
            assert sorted(board[cell] for cell in unit) == list(range(1, scale + 1))


def test_removing_keeps_the_rest() -> None:
    solution = full_board(9, random.Random(1))
    board = remove_numbers(solution, 9, 50, random.Random(2))
    assert all(left in {0, right} for left, right in zip(board, solution, strict=True))


def test_a_search_leaves_an_impossible_board_as_it_was() -> None:
    board = [1, 2, 3, 0] + [0, 0, 0, 4] + [0] * 8
    search = SudokuSearch(4, board)
    assert search.fill() is False
    assert search.board == board


def test_a_number_that_breaks_no_rule_but_belongs_elsewhere_is_refused_without_a_fault() -> None:
    env = gem.make("game:Sudoku-v0-easy").unwrapped
    assert isinstance(env, Sudoku)
    env.reset(seed=0)
    wrong = next(
        (cell, number)
        for cell, number in enumerate(env.board)
        if not number
        for number in allowed(4, env.board, cell)
        if number != env.solution[cell]
    )
    cell, number = wrong
    text, reward, _, _, info = env.step(f"\\boxed{{{cell // 4 + 1} {cell % 4 + 1} {number}}}")
    assert reward == 0
    assert "belongs elsewhere" in text
    assert "error" not in info


def test_a_number_that_the_row_has_is_against_the_rules() -> None:
    env = gem.make("game:Sudoku-v0-easy").unwrapped
    assert isinstance(env, Sudoku)
    env.reset(seed=0)
    cell = env.board.index(0)
    row = cell // 4
    number = max(env.board[4 * row : 4 * row + 4]) or max(env.board)
    _, reward, _, _, info = env.step(f"\\boxed{{{row + 1} {cell % 4 + 1} {number}}}")
    assert reward == 0 or env.solution[cell] == number
    assert (info.get("error") == "rule") == (number not in allowed(4, env.givens, cell))


@pytest.mark.parametrize("arguments", [{"scale": 5}, {"clues": 0}, {"clues": 16}, {"max_turns": 0}])
def test_impossible_arguments_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument):
        gem.make("game:Sudoku-v0-easy", **arguments)
