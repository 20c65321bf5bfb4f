"""Our environments, put into the hidden states of recorded GEM episodes, give GEM's rewards and ends.

The traces are not part of this repository. GEM_GOLDEN names the file or the folder that holds `traces.jsonl`.
"""

from __future__ import annotations

import json
import os
import re
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
        before = env.get_state()
        _, reward, terminated, truncated, info = env.step(action)
        if is_known_difference(env, before, action, info):
            return  # from here on the two episodes are not the same any more
        assert reward == pytest.approx(trace["rewards"][i], abs=1e-12), (i, action)
        if "board_after_step" in trace and all(map(all, trace["board_after_step"][i])):
            continue  # on a full board the new tile decides whether there is a move left
        assert (terminated or truncated) == trace["done"][i], (i, action)
        assert truncated == (ended_by_limit(trace, i) and not info["success"]), (i, action)
    assert terminated or truncated or trace["hidden"]["turn_count"] + i + 1 < env.max_turns


def hidden_at(trace: Trace, i: int, env: gem.Env) -> dict[str, Any]:
    """What GEM hid before turn `i` of 2048."""
    board = trace["board_after_step"][i - 1] if i else trace["hidden"]["board"]
    best = 1 << env.get_state()["best"]
    turns = trace["hidden"]["turn_count"] + i
    return {**trace["hidden"], "board": board, "turn_count": turns, "max_tile_achieved": best}


def is_known_difference(env: gem.Env, before: dict[str, Any], action: str, info: dict[str, Any]) -> bool:
    """Whether the turn is one of those in which ours is meant to differ (docs/differences-from-gem.md)."""
    family = env.spec.family if env.spec else ""
    after = env.get_state()
    if family == "GuessTheNumber":  # GEM takes a guess of 0 for a format error
        return int(env.unwrapped.pattern.findall(action)[-1] if info.get("error") != "format" else 1) == 0
    if family == "Minesweeper":  # GEM also asks for a flag on every mine
        return bool(info.get("success")) and after["shown"].count("F") < after["num_mines"]
    if family == "Hangman":  # GEM goes on until the word is written out
        return bool(info.get("success")) and after["letters"] != before["letters"]
    if family == "WordSearch":  # GEM pays for a word again that is marked from its other end
        return info.get("error") == "rule" and after["found"] == before["found"] and ends(after, action)
    return False


def ends(state: dict[str, Any], action: str) -> bool:
    """Whether the action marks a word that is found."""
    r1, c1, r2, c2 = map(int, re.findall(r"\\boxed\{(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\}", action)[-1])
    marked = sorted([r1 * state["size"] + c1, r2 * state["size"] + c2])
    return marked in [state["ends"][index] for index in state["found"]]


def ended_by_limit(trace: Trace, i: int) -> bool:
    """Whether the limit alone ended it: a last action that ends the episode by itself is not truncated."""
    format_error = trace["rewards"][i] == -0.1
    return bool(trace["hit_turn_limit"][i] and not format_error)


def mines(grid: list[list[int]]) -> list[int]:
    return [cell for cell, number in enumerate(flat(grid)) if number == -1]
