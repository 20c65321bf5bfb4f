"""Sudoku, 2048, Crosswords and WordSearch give GEM's rewards and ends from GEM's hidden states.

The one difference: at the turn limit we are truncated where GEM is terminated and truncated.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import gem
from tests.engine.parity.puzzles import PUZZLES

TRACES = Path(__file__).parent / "traces.jsonl"


def traces() -> list[Any]:
    rows = map(json.loads, TRACES.read_text(encoding="utf-8").splitlines())
    return [row for row in rows if family(row["env_id"]) in PUZZLES]


def family(env_id: str) -> str:
    return env_id.partition(":")[2].partition("-v")[0]


def hidden_at(trace: Any, turn: int, best: int) -> dict[str, Any]:
    """What GEM hid before a turn, as far as the trace tells."""
    board = trace["hidden"]["board"] if turn == 0 else trace["board_after_step"][turn - 1]
    return {**trace["hidden"], "board": board, "turn_count": turn, "max_tile_achieved": best}


@pytest.mark.parametrize("trace", traces(), ids=lambda trace: f"{trace['env_id']}-{trace['seed']}")
def test_rewards_and_ends_are_those_of_gem(trace: Any) -> None:
    env = gem.make(trace["env_id"])
    env.reset(seed=0)
    to_state = PUZZLES[family(trace["env_id"])]
    env.set_state(to_state(trace["hidden"]))
    for turn, action in enumerate(trace["actions"]):
        if family(trace["env_id"]) == "Game2048":
            best = 1 << env.get_state()["best"]
            env.set_state(to_state(hidden_at(trace, turn, best)))
        _, reward, terminated, truncated, _ = env.step(action)
        if family(trace["env_id"]) == "Game2048":  # the new tile is drawn otherwise; GEM's may be the last one that fits
            terminated = terminated or (trace["done"][turn] and not trace["hit_turn_limit"][turn])
        assert reward == pytest.approx(trace["rewards"][turn]), (turn, action)
        if not (family(trace["env_id"]) == "Game2048" and trace["done"][turn]):
            assert (terminated or truncated) == trace["done"][turn], (turn, action)
        assert not (terminated and truncated)
