"""The actions that views offer: what a board can send is what the environment understands."""

from __future__ import annotations

from typing import Any

import pytest

import gem
from gem.views.actions import offered_actions


def begun(env_id: str) -> Any:
    env = gem.make(env_id)
    env.reset(seed=3)
    return env


@pytest.mark.parametrize(
    ("env_id", "count"),
    [
        ("duel:TicTacToe-v0", 9),
        ("duel:KuhnPoker-v0", 2),
        ("game:TowerofHanoi-v0-easy", 6),
        ("game:Sokoban-v0-easy", 4),
        ("game:FifteenPuzzle-v0-easy", None),
        ("game:Minesweeper-v0-easy", None),
        ("game:Sudoku-v0-easy", None),
        ("duel:Negotiation-v0", None),
        ("shop:WebShop-v0-easy", None),
    ],
)
def test_every_action_that_is_offered_is_understood(env_id: str, count: int | None) -> None:
    env = begun(env_id)
    actions, has_more = offered_actions(env.view(0))
    assert actions
    assert len(actions) == len(set(actions)) <= 300
    if count is not None:
        assert (len(actions), has_more) == (count, False)
    for action in actions[:5]:
        again = begun(env_id)
        *_, info = again.step(action)
        assert info.get("error") != "format", action


def test_words_are_not_listed_letter_by_letter() -> None:
    assert offered_actions(begun("game:Wordle-v0").view(0)) == ([], False)
    assert offered_actions(begun("math:Drawn-v0").view(0)) == ([], False)


def test_a_long_list_is_cut() -> None:
    actions, has_more = offered_actions(begun("game:Minesweeper-v0-easy").view(0), most=5)
    assert (len(actions), has_more) == (5, True)
