"""Plans of studies, the files of their results, and what a report says about them."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gem.cli import main
from gem.errors import InvalidArgument
from gem.studies import documents
from gem.studies.report import report
from gem.studies.results import FOLDER, Results, RunResult
from gem.studies.study import Run, Study, all_studies, compared, digest, find, read, trials

PLAN: Mapping[str, Any] = {
    "name": "small",
    "title": "A small study",
    "question": "Which of two solves more?",
    "seeds": 4,
    "episodes": 100,
    "environments": {"fifteen": {"recipe": "fifteen-easy", "updates": 2}, "gcd": {"recipe": "gcd", "updates": 2}},
    "variants": {
        "rebn": {"title": "ReBN", "settings": {"algorithm": "rebn"}},
        "ppo": {"title": "PPO", "settings": {"algorithm": "ppo"}},
    },
}


def result(study: Study, run: Run, solved: int, *, end: float = 0.5, **changes: Any) -> RunResult:
    spec = study.spec_of(run.environment, run.variant, run.seed, run.tuned)
    return RunResult(
        digest=digest(spec, study.episodes),
        tuned=run.tuned,
        episodes=study.episodes,
        solved=solved,
        mean_return=solved / study.episodes,
        turns=4.0,
        turns_when_solved=3.5,
        cpu_seconds=36.0,
        curve=(0.0, end),
        **changes,
    )


def filled(study: Study, folder: Path, solved: Mapping[str, int], seeds: int) -> Results:
    """Results in which each variant solves so many episodes, and one more with each seed."""
    results = Results(study, folder)
    for run in compared(study, {}):
        if run.seed < seeds:
            results.write(run, result(study, run, solved[run.variant] + run.seed))
    return results


def test_every_study_of_ours_can_be_read_and_its_results_are_of_its_plan() -> None:
    assert all_studies()
    for study in all_studies():
        results = Results(study)
        planned = {run.file for run in results.planned()}
        kept = {str(path.relative_to(FOLDER / study.name)) for path in (FOLDER / study.name).rglob("*.json")}
        assert kept <= planned, f"{study.name} keeps results of runs that it does not plan: {kept - planned}"
        assert results.done == len(kept), f"{study.name} keeps results of another specification"


def test_runs_differ_in_what_is_compared_alone() -> None:
    study = Study.model_validate(PLAN)
    specs = [study.spec_of("gcd", variant, seed) for variant in study.variants for seed in range(2)]
    assert {(spec.algorithm, spec.seed) for spec in specs} == {("rebn", 0), ("rebn", 1), ("ppo", 0), ("ppo", 1)}
    assert len({spec.model_dump_json(exclude={"algorithm", "seed"}) for spec in specs}) == 1


def test_seeds_come_one_after_the_other() -> None:
    study = Study.model_validate(PLAN)
    assert [run.seed for run in compared(study, {})] == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4


def test_a_result_of_another_specification_does_not_count(tmp_path: Path) -> None:
    study = Study.model_validate(PLAN)
    filled(study, tmp_path, {"rebn": 50, "ppo": 50}, 1)
    assert Results(study, tmp_path).done == 4
    longer = {**PLAN, "environments": {**PLAN["environments"], "gcd": {"recipe": "gcd", "updates": 3}}}
    assert Results(Study.model_validate(longer), tmp_path).done == 2
    assert Results(Study.model_validate({**PLAN, "episodes": 200}), tmp_path).done == 0


def test_a_file_that_was_cut_off_does_not_count(tmp_path: Path) -> None:
    study = Study.model_validate(PLAN)
    results = filled(study, tmp_path, {"rebn": 50, "ppo": 50}, 1)
    (tmp_path / "gcd" / "rebn.0.json").write_text('{"digest": "', encoding="utf-8")
    assert results.done == 3


def test_each_variant_tries_the_same_values_and_goes_on_with_its_best(tmp_path: Path) -> None:
    study = Study.model_validate({**PLAN, "tuning": {"learning_rate": [0.001, 0.002]}})
    results = Results(study, tmp_path)
    assert len(list(trials(study))) == 8
    assert [run for run in results.planned() if not run.is_trial] == [], "no value is chosen yet"
    for run in trials(study):
        best = 0.002 if run.variant == "ppo" else 0.001
        results.write(run, result(study, run, 0, end=0.9 if run.tuned == best else 0.1))
    assert results.chosen()["gcd", "ppo"] == 0.002
    assert results.chosen()["gcd", "rebn"] == 0.001
    rates = {
        (run.variant, study.spec_of(run.environment, run.variant, run.seed, run.tuned).learning_rate)
        for run in results.planned()
        if not run.is_trial
    }
    assert rates == {("ppo", 0.002), ("rebn", 0.001)}


def test_an_order_is_said_where_the_seeds_allow_it(tmp_path: Path) -> None:
    study = Study.model_validate(PLAN)
    found = report(filled(study, tmp_path, {"rebn": 80, "ppo": 40}, 4))
    assert found.is_complete
    assert found.sentences[0].startswith("ReBN solves more than PPO: by 40 (")
    assert [row.title for row in found.rows] == ["ReBN", "PPO"]


def test_no_order_is_said_of_equal_ones_or_of_two_seeds(tmp_path: Path) -> None:
    study = Study.model_validate(PLAN)
    equal = report(filled(study, tmp_path / "equal", {"rebn": 50, "ppo": 50}, 4))
    assert equal.sentences == ["These trainings show no order: every difference may be zero (ReBN and PPO)."]
    few = report(filled(study, tmp_path / "few", {"rebn": 80, "ppo": 40}, 2))
    assert "8 of 16 trainings were made" in few.sentences[0]
    assert few.sentences[-1] == "With fewer than 3 seeds, nothing is said about an order."


def test_only_seeds_that_every_variant_has_are_counted(tmp_path: Path) -> None:
    study = Study.model_validate(PLAN)
    results = filled(study, tmp_path, {"rebn": 50, "ppo": 50}, 3)
    (tmp_path / "gcd" / "ppo.1.json").unlink()
    table = results.finished()
    assert {variant: list(own) for variant, own in table["gcd"].items()} == {"rebn": [0, 2], "ppo": [0, 2]}
    assert list(table["fifteen"]["rebn"]) == [0, 1, 2]


def test_results_elsewhere_are_pooled_and_shown_as_a_matrix(tmp_path: Path) -> None:
    study = Study.model_validate({**PLAN, "measured_in": {"tictactoe": {"recipe": "tictactoe"}}})
    results = Results(study, tmp_path)
    for run in compared(study, {}):
        solved = {"rebn": 10, "ppo": 30}[run.variant]
        results.write(run, result(study, run, 50, elsewhere={"tictactoe": solved}))
    found = report(results)
    assert [(one.trained_in, one.measured_in, one.share.mean) for one in found.elsewhere] == [
        ("fifteen", "tictactoe", 0.2),
        ("gcd", "tictactoe", 0.2),
    ]
    assert "| gcd | 20 % |" in documents.markdown(found)


def test_turns_are_set_beside_the_optimum(tmp_path: Path) -> None:
    study = Study.model_validate({**PLAN, "optimum_turns": {"gcd": 2.0}})
    found = report(filled(study, tmp_path, {"rebn": 50, "ppo": 50}, 4))
    assert "Turns of solved episodes in gcd: ReBN 3.50, PPO 3.50; the best strategy needs 2 for all." in found.sentences


def test_the_page_has_the_table_and_the_figure_every_variant(tmp_path: Path) -> None:
    found = report(filled(Study.model_validate(PLAN), tmp_path / "results", {"rebn": 80, "ppo": 40}, 4))
    page, figure = documents.write(found, tmp_path / "out")
    assert "| ReBN | 81.5 % (" in page.read_text()
    assert "16 of 16 trainings, 0.2 CPU hours." in page.read_text()
    drawn = figure.read_text()
    assert drawn.count('<g id="FillBetween') == 4
    assert {"ReBN", "PPO", "gcd", "fifteen"} <= set(re.findall(r"<text[^>]*>([^<]+)</text>", drawn))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"seeds": 1}, "seeds"),
        ({"environments": {}}, "environments"),
        ({"environments": {"x": {"recipe": "gcdd"}}}, "Did you mean gcd?"),
        ({"variants": {"No Name": {"title": "x"}}}, "variants"),
        ({"variants": {"x": {"title": "x", "settings": {"learning_rat": 1}}}}, "learning_rat"),
        ({"tuning": {"learning_rate": [0.1]}}, "two values or more"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused(changes: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({key: value for key, value in PLAN.items() if key != "name"} | changes))
    with pytest.raises(InvalidArgument, match=re.escape(sentence)):
        read(path)


def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "report", "algoritms"]) == 2
    assert "Did you mean algorithms?" in capsys.readouterr().err
    assert main(["study", "report", str(tmp_path / "none.json")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert main(["study", "run", "algorithms", "--only", "chess"]) == 2
    assert "choose from fifteen-easy" in capsys.readouterr().err


def test_the_list_names_every_study(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "list"]) == 0
    printed = capsys.readouterr().out
    assert all(f"{study.name}: {study.question}" in printed for study in all_studies())
    assert find("algorithms").name == "algorithms"


@pytest.mark.long
def test_a_study_of_ones_own_is_made_once_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.json"
    plan = {key: value for key, value in PLAN.items() if key != "name"}
    plan |= {"seeds": 2, "episodes": 32, "measured_in": {"gcd": {"recipe": "gcd"}}}
    plan["environments"] = {"fifteen": {"recipe": "fifteen-easy", "updates": 1}}
    path.write_text(json.dumps(plan))
    command = ["study", "run", str(path), "--work", str(tmp_path / "work")]
    assert main([*command, "--seeds", "1"]) == 0
    assert "2 of 4 trainings were made" in capsys.readouterr().out
    first = {file: file.stat().st_mtime for file in (tmp_path / "mine.results").rglob("*.json")}
    assert len(first) == 2
    assert main(command) == 0
    assert "2 runs were made" in capsys.readouterr().err
    assert {file: file.stat().st_mtime for file in first} == first, "what was made is not made again"
    assert not list((tmp_path / "work").rglob("*.safetensors")), "work is cleared away"
