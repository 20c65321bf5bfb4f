"""`gemweb eval --out`: what a file of earlier episodes is worth to the same command."""

import json
from collections.abc import Callable
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


COIN_ROW = ["eval", "--agent", "random", "--env", "game:CoinRow-v0", "--episodes", 3, "--out", "coins.jsonl"]
TAKEN = 'return f"You took {coin}.", 0.0'


def test_half_of_a_surrogate_pair_is_stored_and_replayed(
    run: Run, coin_row: Callable[..., str], tmp_path: Path
) -> None:
    module = coin_row((TAKEN, 'return "half \\ud800 of a pair", 0.0'))
    assert run(*COIN_ROW, "--module", module).code == 0
    assert [one["turns"][0]["observation"] for one in episodes(tmp_path / "coins.jsonl")] == [
        "half \ud800 of a pair"
    ] * 3
    assert run("replay", "coins.jsonl", "--module", module).out.startswith("3 of 3 episodes identical")


def test_an_environment_that_ends_the_program_is_named(run: Run, coin_row: Callable[..., str]) -> None:
    module = coin_row(("coin = self.row.pop(", "raise SystemExit(0)\n        coin = self.row.pop("))
    code, _, err = run(*COIN_ROW, "--module", module)
    assert code == 1
    assert "coin_row_outside.py, line" in err
    assert "ended the program (SystemExit(0)); it has to raise an error instead." in err
