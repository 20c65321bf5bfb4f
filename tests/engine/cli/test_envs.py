"""`gemweb envs`, and what every command does with input that makes no sense."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gem
from tests.engine.cli.conftest import Run

ROOT = Path(__file__).parents[3]
ENV_ID = "game:GuessTheNumber-v0-easy"


def test_it_lists_every_environment(run: Run) -> None:
    code, out, err = run("envs")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()[1:]] == [spec.id for spec in gem.registry.specs()]


def test_a_word_narrows_the_list_whatever_its_case(run: Run) -> None:
    code, out, _ = run("envs", "sokoban-")
    rows = out.splitlines()[1:]
    assert code == 0
    assert rows
    assert all(row.startswith("game:Sokoban-v0") for row in rows)


def test_it_lists_environments_of_other_modules(run: Run, coin_row) -> None:
    code, out, _ = run("envs", "CoinRow", "--module", coin_row())
    assert code == 0
    assert "game:CoinRow-v0-hard" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["envs", "nothing-like-it"], "No environment's id contains 'nothing-like-it'"),
        (["play", "game:Sokobann-v0"], "Did you mean game:Sokoban-v0"),
        (["play", "game:Sokoban-v0", "--seed", "-4"], "A seed is an integer from 0"),
        (["play", "game:Sokoban-v0", "--seed", "four"], "invalid int value"),
        (["check", "game:Nowhere-v0"], "No environment is registered as 'game:Nowhere-v0'"),
        (["envs", "--module", "there_is_no_such_module"], "there_is_no_such_module cannot be imported"),
        (["envs", "--module", "own.py"], "own.py is a path. Give the name of the module, own, in the folder"),
        (["envs", "--module", "./envs/own"], "./envs/own is a path. Give the name of the module, own, in the folder"),
        (["evla"], "invalid choice: 'evla'. Did you mean eval? Try gemweb --help.\n"),
        (["eval", "--agent", "random", "--env", "custom:None-v0"], "known once the module that registers it is named"),
        (["replay", "no-such-file.jsonl"], "no-such-file.jsonl cannot be read"),
        (["eval", "--agent", "random"], "one of the arguments --benchmark --env --challenge is required"),
        (["fly"], "invalid choice"),
        (
            ["check", "mine:Own-v0"],
            "One of your own is known once the module that registers it is named: --module NAME.",
        ),
    ],
)
def test_bad_input_is_answered_in_one_sentence(run: Run, arguments: list[str], sentence: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.splitlines()) == 1
    assert err.startswith("gemweb")


def test_without_a_command_they_are_listed(run: Run) -> None:
    code, out, err = run()
    assert (code, out) == (2, "")
    assert err.startswith("usage: gemweb")
    assert "Re-execute the episodes of a file" in err


def test_a_module_that_does_not_import_is_not_our_traceback(run: Run, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "module_with_a_slip.py").write_text("def broken(:\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    code, _, err = run("envs", "--module", "module_with_a_slip")
    assert code == 2
    assert "module_with_a_slip cannot be imported: SyntaxError" in err


def test_the_list_can_be_cut_off_by_who_reads_it() -> None:
    command = f"{sys.executable} -m gem.cli envs | head -1"
    done = subprocess.run(["/bin/sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("environment")
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("stream", "arguments"),
    [
        ("stdin", ["play", ENV_ID, "--seed", "1"]),
        ("stdout", ["envs", "sokoban"]),
        ("stderr", ["eval", "--agent", "random", "--env", ENV_ID, "--episodes", "1"]),
    ],
)
def test_it_runs_where_a_standard_stream_is_closed(
    stream: str, arguments: list[str], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, stream, None)
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    assert bool(out) is (stream != "stdout")
    getattr(sys, stream).close()


def test_it_starts_without_anything_heavy() -> None:
    code = "import sys, gem.cli; print(not {'pydantic', 'django', 'torch', 'numpy', 'subprocess'} & set(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True"
