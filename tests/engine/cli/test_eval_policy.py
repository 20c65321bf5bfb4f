"""`gemweb eval --agent policy`: a checkpoint of a training, evaluated from a terminal."""

import json
import shutil
from pathlib import Path

import pytest

from gem.training import models
from tests.engine.cli.conftest import Run

ENV_ID = "game:GuessTheNumber-v0-easy"
ASKED = ("eval", "--agent", "policy", "--env", ENV_ID, "--episodes", 3)


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A training's folder with two checkpoints, the later one with other weights' card."""
    pytest.importorskip("torch")
    base = Path(models.__path__[0]) / "nano-base"
    for update in (5, 10):
        folder = tmp_path / "guess" / "checkpoints" / f"{update:06}"
        shutil.copytree(base, folder)
        (folder / "card.json").write_text(json.dumps({"recipe": f"after-{update}", "max_tokens": 12}), "utf-8")
    (tmp_path / "guess" / "spec.json").write_text("{}", "utf-8")
    return tmp_path / "guess"


def test_a_training_is_evaluated_by_its_newest_checkpoint(run: Run, run_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "episodes.jsonl"
    asked = [*ASKED, "--checkpoint", run_folder, "--out", out]
    ran = run(*asked)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("after-10@")
    named = {json.loads(line)["agent"] for line in out.read_text("utf-8").splitlines()}
    assert named == {ran.out.split(",")[0]}
    assert "3 of 3 episodes are in" in run(*asked).err
    cold = [*asked, "--temperature", 0]
    assert "are in" not in run(*cold).err, "another temperature is another agent"
    older = run(*ASKED, "--checkpoint", run_folder / "checkpoints" / "000005", "--out", out)
    assert older.out.startswith("after-5@")
    assert "are in" not in older.err
    assert run("replay", out).out.startswith("9 of 9 episodes identical")


def test_it_draws_anew_in_every_try(run: Run, run_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "tries.jsonl"
    assert run(*ASKED, "--checkpoint", run_folder, "--repeats", 4, "--out", out).code == 0
    episodes = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    played = {(one["seed"], *(turn["action"] for turn in one["turns"])) for one in episodes}
    assert len(episodes) == 12
    assert len(played) > 6, "the four tries of a seed are not one"


def test_what_is_missing_or_wrong_is_said(run: Run, run_folder: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "spec.json").write_text("{}", "utf-8")
    for arguments, sentence in (
        ([], "--agent policy needs --checkpoint"),
        (["--checkpoint", tmp_path / "nothing"], "is no folder"),
        (["--checkpoint", empty], "has no checkpoint yet"),
        (["--checkpoint", run_folder, "--url", "http://127.0.0.1:1/v1"], "--url belongs to --agent endpoint."),
        (["--checkpoint", run_folder, "--temperature", 9], "A temperature is from 0 to 5"),
    ):
        ran = run(*ASKED, *arguments)
        assert (ran.code, sentence in ran.err) == (2, True), ran.err
    ran = run("eval", "--agent", "random", "--env", ENV_ID, "--checkpoint", run_folder)
    assert ran.err == "gemweb eval: --checkpoint belongs to --agent policy.\n"
