"""Games of which some parameters are given, and others are drawn for each episode."""

from __future__ import annotations

from typing import Any

import pytest

import gem
from gem.errors import InvalidArgument


@pytest.mark.parametrize("max_number", [2, 6, 10, 11])
def test_a_number_that_is_drawn_is_within_a_range_whose_end_is_given(max_number: int) -> None:
    env = gem.make("game:GuessTheNumber-v0-random", max_number=max_number)
    for seed in range(30):
        env.reset(seed=seed)
        state = env.get_state()
        assert 0 <= state["min_number"] < state["max_number"] == max_number
        assert state["min_number"] <= state["secret"] <= max_number
        while not env.step(f"\\boxed{{{max_number}}}")[4].keys() & {"success"}:
            pass


@pytest.mark.parametrize(
    ("env_id", "arguments", "message"),
    [
        ("game:GuessTheNumber-v0-random", {"max_number": 1}, "at least 2"),
        ("game:GuessTheNumber-v0-random", {"min_number": -5}, "at least 0"),
        ("game:Minesweeper-v0-random", {"rows": 3, "cols": 3}, "no place for a mine"),
        ("game:Minesweeper-v0-random", {"rows": 2, "cols": 2}, "no place for a mine"),
    ],
)
def test_what_no_episode_could_be_drawn_with_is_refused(env_id: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        gem.make(env_id, **arguments)


@pytest.mark.parametrize(("rows", "cols"), [(2, 4), (4, 2), (3, 4), (4, 4)])
def test_the_smallest_boards_of_minesweeper_can_be_opened_anywhere(rows: int, cols: int) -> None:
    env = gem.make("game:Minesweeper-v0-random", rows=rows, cols=cols)
    for row in range(rows):
        for col in range(cols):
            env.reset(seed=0)
            assert "You opened" in env.step(f"\\boxed{{reveal {row} {col}}}")[0]


@pytest.mark.parametrize(("num_words", "max_turns"), [(4, 20), (5, 25), (8, 40)])
def test_many_words_of_a_crossword_get_more_turns(num_words: int, max_turns: int) -> None:
    env = gem.make("game:Crosswords-v0-random", num_words=num_words, hardcore=True)
    env.reset(seed=0)
    assert env.max_turns == max_turns >= len(env.get_state()["solution"].replace(".", ""))
