"""Plans of studies, the files of their results, and what a report says about them."""

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gem.cli import main
from gem.errors import InvalidArgument
from gem.studies import documents
from gem.studies.digests import measured_digests
from gem.studies.report import report
from gem.studies.results import FOLDER, FolderResults
from gem.studies.statistics import THRESHOLDS
from gem.studies.study import Study, all_studies, compared, find, read, trials
from gem.training import recipes
from tests.engine.studies.small_study import PLAN, TWO, filled, measured, result


def test_every_study_of_ours_can_be_read_and_its_results_are_of_its_plan() -> None:
    assert all_studies()
    for study in all_studies():
        results = FolderResults(study)
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
    assert FolderResults(study, tmp_path).done == 4
    longer = {**PLAN, "environments": {**PLAN["environments"], "gcd": {"recipe": "gcd", "updates": 3}}}
    assert FolderResults(Study.model_validate(longer), tmp_path).done == 2
    assert FolderResults(Study.model_validate({**PLAN, "episodes": 200}), tmp_path).done == 0


def test_a_file_that_was_cut_off_does_not_count(tmp_path: Path) -> None:
    study = Study.model_validate(PLAN)
    results = filled(study, tmp_path, {"rebn": 50, "ppo": 50}, 1)
    (tmp_path / "gcd" / "rebn.0.json").write_text('{"digest": "', encoding="utf-8")
    assert results.done == 3


def test_each_variant_tries_the_same_values_and_goes_on_with_its_best(tmp_path: Path) -> None:
    study = Study.model_validate({**PLAN, "tuning": {"learning_rate": [0.001, 0.002]}})
    results = FolderResults(study, tmp_path)
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
    assert found.sentences[0].startswith("ReBN solves more than PPO by 40 (")
    assert [row.title for row in found.rows] == ["ReBN", "PPO"]


def test_no_order_is_said_of_equal_ones_or_of_two_seeds(tmp_path: Path) -> None:
    study = Study.model_validate(PLAN)
    equal = report(filled(study, tmp_path / "equal", {"rebn": 50, "ppo": 50}, 4))
    (sentence,) = equal.sentences
    assert sentence.startswith("These trainings show no order: the difference between ReBN and PPO is 0 (")
    assert sentence.endswith(" points and may be zero.")
    few = report(filled(study, tmp_path / "few", {"rebn": 80, "ppo": 40}, 2))
    assert "8 of 16 runs were made" in few.sentences[0]
    assert few.sentences[-1] == "With fewer than 3 seeds, nothing is said about an order."


def test_runs_that_overlap_show_no_order_although_a_bootstrap_does(tmp_path: Path) -> None:
    """Two of three trainings of one variant solve more than all of the other."""
    study = Study.model_validate({**PLAN, "environments": {"gcd": {"recipe": "gcd"}}, "seeds": 3})
    results = FolderResults(study, tmp_path)
    for run in compared(study, {}):
        solved = {"rebn": (62, 70, 55), "ppo": (40, 50, 54)}[run.variant][run.seed]
        results.write(run, result(study, run, solved))
    found = report(results)
    assert found.rows[0].interval is not None
    assert found.rows[1].interval is not None
    assert found.rows[0].interval.low > found.rows[1].interval.high
    (sentence,) = found.sentences
    assert sentence.startswith("These trainings show no order: the difference between ReBN and PPO is ")


def test_only_seeds_that_every_variant_has_are_counted(tmp_path: Path) -> None:
    study = Study.model_validate(PLAN)
    results = filled(study, tmp_path, {"rebn": 50, "ppo": 50}, 3)
    (tmp_path / "gcd" / "ppo.1.json").unlink()
    table = results.finished()
    assert {variant: list(own) for variant, own in table["gcd"].items()} == {"rebn": [0, 2], "ppo": [0, 2]}
    assert list(table["fifteen"]["rebn"]) == [0, 1, 2]


def test_a_result_is_measured_again_only_where_an_environment_is_new(tmp_path: Path) -> None:
    study = Study.model_validate({**PLAN, "measured_in": {"gcd": {"recipe": "gcd"}}})
    measured(study, tmp_path, {"gcd": 2}, {"gcd": 50})
    more = FolderResults(Study.model_validate({**PLAN, "measured_in": TWO}), tmp_path)
    run = next(run for run in more.planned() if not run.is_untrained)
    assert more.of(run) is None
    earlier = more.earlier(run)
    assert earlier is not None
    assert earlier.measured.items() <= measured_digests(more.study).items()


@pytest.mark.parametrize(
    ("setting", "matters"),
    [
        ({"updates": 7}, False),
        ({"retry_unsolved": 0.5}, False),
        ({"temperature": 0.5}, True),
        ({"env_kwargs": {"config": {"max_value": 9}}}, True),
    ],
)
def test_a_measurement_depends_on_how_is_played_and_not_on_how_is_trained(
    setting: dict[str, Any], *, matters: bool
) -> None:
    before, after = (
        measured_digests(Study.model_validate({**PLAN, "measured_in": {"gcd": {"recipe": "gcd", **changed}}}))
        for changed in ({}, setting)
    )
    assert (before != after) == matters


def test_every_recipe_that_was_measured_can_be_taken(tmp_path: Path) -> None:
    study = Study.model_validate({**PLAN, "environments": {}, "every_recipe": {"updates": 3}})
    names = {recipe.name for recipe in recipes.all_recipes() if recipe.result is not None and recipe.result.rises}
    assert set(study.environments) == set(study.measured_in) == names
    assert {study.spec_of(name, "rebn", 0).updates for name in names} == {3}
    assert study.measured_spec("gcd").updates == recipes.data("gcd")["updates"]
    again = Study.model_validate(study.model_dump(mode="json"))
    assert again == study, "a plan that is stored has the recipes of its day"


def test_turns_are_set_beside_the_optimum(tmp_path: Path) -> None:
    study = Study.model_validate({**PLAN, "optimum_turns": {"gcd": 2.0}})
    found = report(filled(study, tmp_path, {"rebn": 50, "ppo": 50}, 4))
    (used,) = found.turns_used
    assert [point.turns.mean for point in used.points] == [3.5, 3.5]
    first = "gcd: solved episodes take 3.50 turns (3.50 to 3.50) with ReBN, the fewest; the best strategy takes 2."
    assert first in found.sentences
    assert "gcd: no difference in turns is shown between PPO and ReBN." in found.sentences


def test_fewer_turns_are_said_where_the_seeds_allow_it_along_the_axis(tmp_path: Path) -> None:
    variants = {
        "high": {"title": "discount 1", "settings": {"discount": 1.0}},
        "low": {"title": "discount 0.5", "settings": {"discount": 0.5}},
        "mid": {"title": "discount 0.9", "settings": {"discount": 0.9}},
    }
    study = Study.model_validate({**PLAN, "variants": variants, "axis": "discount", "optimum_turns": {"gcd": 2.0}})
    results = FolderResults(study, tmp_path)
    turns = {"low": 3.0, "mid": 4.9, "high": 5.0}
    for run in compared(study, {}):
        used = turns[run.variant] + 0.1 * run.seed
        results.write(run, result(study, run, 50).model_copy(update={"turns_when_solved": used}))
    found = report(results)
    (used_turns,) = found.turns_used
    assert [point.position for point in used_turns.points] == [0.5, 0.9, 1.0]
    said = [sentence for sentence in found.sentences if sentence.startswith("gcd")]
    assert said[0].startswith("gcd: solved episodes take 3.15 turns (")
    assert said[1].startswith("gcd: compared with discount 1, which takes 5.15 turns (")
    assert "fewer are taken with discount 0.5 by 2.00 (" in said[1]
    assert said[2] == "gcd: no difference in turns is shown between discount 1 and discount 0.9."


def test_the_page_has_the_table_and_the_figures_every_variant(tmp_path: Path) -> None:
    study = Study.model_validate({**PLAN, "optimum_turns": {"gcd": 2.0}})
    found = report(filled(study, tmp_path / "results", {"rebn": 80, "ppo": 40}, 4))
    page, curves, profiles, turns = documents.write(found, tmp_path / "out")
    assert "| ReBN | 81.5 % (" in page.read_text()
    assert "16 of 16 runs, 0.2 CPU hours." in page.read_text()
    assert all(f"]({path.name})" in page.read_text() for path in (curves, profiles, turns))
    assert curves.read_text().count('<g id="FillBetween') == 4
    assert profiles.read_text().count('<g id="FillBetween') == 2
    texts = [set(re.findall(r"<text[^>]*>([^<]+)</text>", path.read_text())) for path in (curves, profiles, turns)]
    assert {"ReBN", "PPO", "gcd", "fifteen"} <= texts[0]
    assert {"ReBN", "PPO", "solved, interquartile mean"} <= texts[1]
    assert "gcd: turns of solved episodes" in texts[2]


def test_a_profile_is_the_share_of_trainings_above_each_share(tmp_path: Path) -> None:
    found = report(filled(Study.model_validate(PLAN), tmp_path, {"rebn": 80, "ppo": 40}, 4))
    rebn, ppo = found.rows
    shares = {threshold: one.mean for threshold, one in zip(THRESHOLDS, rebn.profile, strict=True)}
    assert (shares[0.0], shares[0.8], shares[0.825], shares[1.0]) == (1.0, 0.75, 0.25, 0.0), "80, 81, 82 and 83 %"
    assert all(one.low <= one.mean <= one.high for row in (rebn, ppo) for one in row.profile)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"seeds": 1}, "seeds"),
        ({"environments": {}}, "environments"),
        ({"environments": {"x": {"recipe": "gcdd"}}}, "Did you mean gcd?"),
        ({"variants": {"No Name": {"title": "x"}}}, "variants"),
        ({"variants": {"x": {"title": "x", "settings": {"learning_rat": 1}}}}, "learning_rat"),
        ({"tuning": {"learning_rate": [0.1]}}, "two values or more"),
        ({"tuning": {"learning_rates": [0.1, 0.2]}}, "learning_rates"),
        ({"tuning": {"learning_rate": [0.001, 5.0]}}, "learning_rate"),
        ({"tuning": {"pool_agents": [["random"], ["expert"]]}}, "numbers, words, true and false"),
        ({"tuning": {"learning_rate": [0.001, None]}}, "numbers, words, true and false"),
        ({"variants": {"x": {"title": "One"}, "y": {"title": "One"}}}, "Two variants have the title 'One'"),
        ({"variants": {"x": {"title": ""}}}, "title"),
        ({"measured_in": {"x": {"env_id": "rg:gdc"}}}, "measured_in.x: "),
        ({"axis": "discount"}, "The axis is discount, so each variant has to set discount to a number."),
        ({"optimum_turns": {"chess": 3.0}}, "optimum_turns names chess, which is none of the environments."),
        ({"environments": {"untrained": {"recipe": "gcd"}}}, "Give the environment untrained another name"),
        ({"every_recipe": True}, "every_recipe holds the settings to change in every recipe, such as {}."),
        (
            {
                "environments": {f"e{number}": {"recipe": "gcd"} for number in range(60)},
                "variants": {f"v{number}": {"title": "x"} for number in range(4)},
            },
            "60 environments with 4 variants each are more than 200 pairs: leave some out.",
        ),
        (
            {
                "environments": {
                    f"e{number}": {"recipe": "gcd", "curriculum": [{"env_id": "rg:gcd"}] * 6} for number in range(9)
                }
            },
            "The curricula of all pairs of an environment and a variant have 108 stages together, more than 100",
        ),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused(changes: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({key: value for key, value in PLAN.items() if key != "name"} | changes))
    with pytest.raises(InvalidArgument, match=re.escape(sentence)):
        read(path)


@pytest.mark.skipif(find_spec("torch") is None, reason="trainings need torch, which `make test` installs")
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


def test_words_can_be_tuned_over(tmp_path: Path) -> None:
    study = Study.model_validate({**PLAN, "tuning": {"schedule": ["constant", "linear"]}})
    results = FolderResults(study, tmp_path)
    for run in trials(study):
        results.write(run, result(study, run, 0, end=0.9 if run.tuned == "linear" else 0.1))
    for run in compared(study, results.chosen()):
        results.write(run, result(study, run, 50 + run.seed))
    page = documents.markdown(report(results))
    assert "Each variant tried `schedule` constant, linear" in page
    assert "ReBN linear, linear" in page


def test_tool_calls_are_counted_and_reported(tmp_path: Path) -> None:
    from gem.records import EpisodeRecord, Identity, TurnRecord
    from gem.studies.running import _tool_calls

    turns = [TurnRecord("a", "", 0.0, {"tool_calls": [{}, {}]}), TurnRecord("b", "", 1.0, {})]
    assert _tool_calls(EpisodeRecord(0, Identity("rg:gcd", 1, 0), "", {}, turns)) == 2
    study = Study.model_validate(PLAN)
    results = FolderResults(study, tmp_path)
    for run in compared(study, {}):
        calls = 1.5 if (run.environment, run.variant) == ("gcd", "ppo") else 0.0
        results.write(run, result(study, run, 50, tool_calls=calls))
    said = [sentence for sentence in report(results).sentences if "tool calls" in sentence]
    assert said == ["gcd, PPO: 1.50 tool calls in an episode after training."]


def test_with_one_variant_the_report_says_that_nothing_is_compared(tmp_path: Path) -> None:
    study = Study.model_validate({**PLAN, "variants": {"rebn": PLAN["variants"]["rebn"]}})
    assert report(filled(study, tmp_path, {"rebn": 50}, 4)).sentences == [
        "The study has one variant, so nothing is compared."
    ]
