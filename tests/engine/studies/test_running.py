"""Making the runs of a study: one process for each run, and nothing twice after a stop."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gem.cli import main
from gem.rollout import EpisodeRequest
from gem.studies import running
from gem.studies.digests import measured_digests
from gem.studies.results import FolderResults, RunResult
from gem.studies.study import Run, Study, untrained
from tests.engine.studies.small_study import PLAN, TWO, result


def test_one_process_makes_a_run_and_another_goes_past_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study.model_validate({**PLAN, "measured_in": {"gcd": {"recipe": "gcd"}}})
    results, work = FolderResults(study, tmp_path / "results"), tmp_path / "work"
    made: list[Run] = []

    def make(study: Study, run: Run, *_: Any) -> RunResult:
        made.append(run)
        return result(study, run, 50, measured=measured_digests(study), elsewhere={"gcd": 1})

    monkeypatch.setattr(running, "make", make)
    first, second = list(results.planned())[:2]
    with running._alone(running.folder_of(study, first, work)):
        assert running.make_missing(results, work) == results.total - 1
    assert first not in made
    assert second in made
    assert running.make_missing(results, work) == 1
    assert made[-1] == first


def test_a_run_that_was_made_meanwhile_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study.model_validate(PLAN)
    results = FolderResults(study, tmp_path / "results")
    seen: list[Run] = []

    @contextmanager
    def alone(_: Path) -> Iterator[None]:
        run = next(run for run in results.planned() if results.of(run) is None)
        seen.append(run)
        results.write(run, result(study, run, 50))
        yield

    monkeypatch.setattr(running, "_alone", alone)
    monkeypatch.setattr(running, "make", lambda *_: pytest.fail("it was made again"))
    assert running.make_missing(results, tmp_path / "work") == 0
    assert len(seen) == results.total


@pytest.mark.skipif(find_spec("torch") is None, reason="trainings need torch, which `make test` installs")
def test_measurements_that_were_made_are_kept_when_a_process_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Study.model_validate({**PLAN, "episodes": 32, "measured_in": TWO})
    (run,) = untrained(study)
    played: list[str] = []

    def rollout(_agent: Any, requests: Sequence[EpisodeRequest], **_: Any) -> list[Any]:
        played.append(requests[0].env_id)
        if played == ["rg:gcd", requests[0].env_id]:
            raise KeyboardInterrupt
        return []

    monkeypatch.setattr(running, "rollout", rollout)
    with pytest.raises(KeyboardInterrupt):
        running.make(study, run, tmp_path)
    assert running.make(study, run, tmp_path).elsewhere == {"gcd": 0, "tictactoe": 0}
    assert played == ["rg:gcd", "duel:TicTacToe-v0-vs-random", "duel:TicTacToe-v0-vs-random"]


@pytest.mark.long
def test_a_study_of_ones_own_is_made_once_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.json"
    plan = {key: value for key, value in PLAN.items() if key != "name"}
    plan |= {"seeds": 2, "episodes": 32, "measured_in": {"gcd": {"recipe": "gcd"}}}
    plan["environments"] = {"fifteen": {"recipe": "fifteen-easy", "updates": 1}}
    path.write_text(json.dumps(plan))
    command = ["study", "run", str(path), "--work", str(tmp_path / "work")]
    assert main([*command, "--seeds", "1"]) == 0
    assert "3 of 5 runs were made" in capsys.readouterr().out
    first = {file: file.stat().st_mtime for file in (tmp_path / "mine.results").rglob("*.json")}
    assert len(first) == 3
    assert main(command) == 0
    assert "2 runs were made" in capsys.readouterr().err
    assert {file: file.stat().st_mtime for file in first} == first, "what was made is not made again"
    kept = list((tmp_path / "work").rglob("checkpoints/*/model.safetensors"))
    assert len(kept) == 4, "policies are kept, to be measured in environments that come later"
    assert json.loads((tmp_path / "mine.results" / "untrained" / "nano-base.0.json").read_text())["elsewhere"]
