"""`gemweb eval --out`: what a file of earlier episodes is worth to the same command."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.cli.conftest import Run

PLAY = ["eval", "--agent", "random", "--env", "game:Minesweeper-v0-easy", "--repeats", 3]


def episodes(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text("utf-8").splitlines()]


def actions(found: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return sorted((one["seed"], " ".join(turn["action"] for turn in one["turns"])) for one in found)


@pytest.mark.parametrize("numbered", [True, False], ids=["numbered", "older files without the numbers of tries"])
@pytest.mark.parametrize("kept", [1, 2], ids=["the second tries", "the last tries"])
def test_a_later_try_that_ended_first_is_not_played_twice(
    run: Run, tmp_path: Path, kept: int, *, numbered: bool
) -> None:
    whole, out = tmp_path / "whole.jsonl", tmp_path / "stopped.jsonl"
    run(*PLAY, "--episodes", 4, "--out", whole)
    found = episodes(whole)
    stopped = [one for one in found if one.get("repeat", 0) == kept]
    assert len(stopped) == 4
    for one in stopped if not numbered else []:
        del one["repeat"]
    out.write_text("".join(json.dumps(one) + "\n" for one in stopped), "utf-8")
    printed = run(*PLAY, "--episodes", 4, "--out", out)
    assert "4 of 12 episodes are in" in printed.err
    assert actions(episodes(out)) == actions(found)
    assert printed.out == run(*PLAY, "--episodes", 4).out


def test_more_seeds_later_leave_every_try_its_number(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "grown.jsonl"
    run(*PLAY, "--episodes", 2, "--out", out)
    few = [one for one in episodes(out) if one.get("repeat", 0) != 1]  # stopped before the second tries
    out.write_text("".join(json.dumps(one) + "\n" for one in few), "utf-8")
    run(*PLAY, "--episodes", 5, "--out", out)
    run(*PLAY, "--episodes", 5, "--out", tmp_path / "whole.jsonl")
    assert actions(episodes(out)) == actions(episodes(tmp_path / "whole.jsonl"))
