"""Our environments, put into the hidden states of recorded GEM episodes, give GEM's rewards and ends.

The traces are not part of this repository. GEM_GOLDEN names the file or the folder that holds `traces.jsonl`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import gem
from tests.engine.parity.adapter import FAMILIES, flat, to_state

ROOT = Path(__file__).parents[3]
Trace = dict[str, Any]


def traces() -> list[Trace]:
    """The recorded episodes of environments that exist here; empty if there is no file."""
    place = Path(os.environ.get("GEM_GOLDEN", ROOT.parent / "shared" / "golden"))
    file = place / "traces.jsonl" if place.is_dir() else place
    if not file.is_file():
        return []
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [trace for trace in lines if trace["env_id"].partition(":")[2].partition("-v")[0] in FAMILIES]


TRACES = traces()


@pytest.mark.skipif(not TRACES, reason="GEM_GOLDEN names no traces of GEM")
@pytest.mark.parametrize("trace", TRACES, ids=[f"{t['env_id']}-{t['seed']}-{t['policy']}" for t in TRACES])
def test_every_recorded_transition_is_reproduced(trace: Trace) -> None:
    env = gem.make(trace["env_id"])
    env.set_state(to_state(trace["env_id"], trace["hidden"]))
    for i, action in enumerate(trace["actions"]):
        if i == trace.get("first_reveal_step"):  # the mines that GEM laid at this reveal
            env.set_state({**env.get_state(), "mines": mines(trace["grid_after_first_reveal"])})
        if "board_after_step" in trace:  # 2048: GEM drew other tiles
            env.set_state(to_state(trace["env_id"], hidden_at(trace, i, env)))
        _, reward, terminated, truncated, info = env.step(action)
        assert reward == pytest.approx(trace["rewards"][i], abs=1e-12) or known_difference(trace, i, reward), (
            i,
            action,
        )
        if info.get("success") and not trace["done"][i]:
            assert "Minesweeper" in trace["env_id"]  # GEM also asks for a flag on every mine
            return
        if "board_after_step" in trace and all(map(all, trace["board_after_step"][i])):
            continue  # on a full board the new tile decides whether there is a move left
        assert (terminated or truncated) == trace["done"][i], (i, action)
        assert truncated == ended_by_limit(trace, i), (i, action)
    assert terminated or truncated or i + 1 < env.max_turns


def hidden_at(trace: Trace, i: int, env: gem.Env) -> dict[str, Any]:
    """What GEM hid before turn `i` of 2048."""
    board = trace["board_after_step"][i - 1] if i else trace["hidden"]["board"]
    best = 1 << env.get_state()["best"]
    return {**trace["hidden"], "board": board, "turn_count": i, "max_tile_achieved": best}


def known_difference(trace: Trace, i: int, reward: float) -> bool:
    """GEM takes a guess of 0 for a format error; here it is out of range."""
    return "GuessTheNumber" in trace["env_id"] and trace["actions"][i].endswith("\\boxed{0}") and reward == 0.0


def ended_by_limit(trace: Trace, i: int) -> bool:
    """Whether the limit alone ended it: a last action that ends the episode by itself is not truncated."""
    format_error = trace["rewards"][i] == -0.1
    return bool(trace["hit_turn_limit"][i] and not format_error)


def mines(grid: list[list[int]]) -> list[int]:
    return [cell for cell, number in enumerate(flat(grid)) if number == -1]
