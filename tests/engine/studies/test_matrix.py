"""What policies that were trained in one environment solve in others, and what a report says about it."""

import re
from pathlib import Path

import pytest

from gem.studies import documents, figures
from gem.studies.digests import measured_digests
from gem.studies.matrix import Matrix
from gem.studies.report import report
from gem.studies.study import Run, Study
from tests.engine.studies.small_study import PLAN, TWO, measured, result


def test_results_elsewhere_are_pooled_and_shown_as_a_matrix(tmp_path: Path) -> None:
    study = Study.model_validate({**PLAN, "measured_in": TWO})
    results = measured(study, tmp_path, {"gcd": 2, "tictactoe": 10}, {"gcd": 50, "tictactoe": 30})
    assert results.done == results.total == 17, "16 trainings, and nano-base before any"
    found = report(results)
    assert found.matrix is not None
    cell = found.matrix.cells["fifteen", "tictactoe"]
    assert cell.share.mean == 0.3
    assert cell.before is not None
    assert cell.before.mean == 0.1
    assert cell.carries_over
    assert cell.gain is None, "nobody was trained in tictactoe"
    assert found.matrix.cells["fifteen", "gcd"].gain == 1.0
    assert found.matrix.cells["gcd", "gcd"].is_own
    assert found.matrix.row("gcd")[1] == found.matrix.cells["gcd", "tictactoe"]
    page = documents.markdown(found)
    assert "| fifteen | 50 % | 30 % |" in page
    assert "| gcd | **50 %** | 30 % |" in page
    assert "| *before any training* | 2 % | 10 % |" in page
    assert "Trained in gcd, policies solve 50 % there, clearly more than the 2 % before it." in page
    assert "Of 3 pairs of different environments, 3 solve clearly more than before any training" in page
    assert "Trained in fifteen, a policy solves 50 % of gcd, and 2 % before any training." in page


def test_what_is_not_clearly_more_than_before_does_not_carry_over(tmp_path: Path) -> None:
    study = Study.model_validate({**PLAN, "measured_in": TWO})
    results = measured(study, tmp_path, {"gcd": 2, "tictactoe": 40}, {"gcd": 2, "tictactoe": 30})
    found = report(results).matrix
    assert found is not None
    assert not any(cell.carries_over for cell in found.cells.values())
    assert found.cells["fifteen", "gcd"].gain is None, "training there gained nothing"
    assert found.sentences[0] == "Trained in gcd, policies solve 2 % there, not clearly more than the 2 % before it."


def test_with_two_trainings_nothing_is_claimed_of_other_environments(tmp_path: Path) -> None:
    alone = {"rebn": PLAN["variants"]["rebn"]}
    study = Study.model_validate({**PLAN, "measured_in": TWO, "variants": alone, "seeds": 2})
    found = report(measured(study, tmp_path, {"gcd": 2, "tictactoe": 10}, {"gcd": 90, "tictactoe": 90})).matrix
    assert found is not None
    assert found.sentences == [
        "Trained in gcd, policies solve 90 % there, and 2 % before it; with fewer than 3 trainings nothing is claimed.",
        "With fewer than 3 trainings in an environment, nothing is said about others.",
    ]
    assert not any(cell.carries_over or cell.share.interval for cell in found.cells.values())


def test_one_training_of_three_that_learned_carries_nothing_over(tmp_path: Path) -> None:
    """Pooled over the episodes of all three it would be clearly more."""
    alone = {"rebn": PLAN["variants"]["rebn"]}
    study = Study.model_validate({**PLAN, "measured_in": TWO, "variants": alone, "seeds": 3})
    results = measured(study, tmp_path, {"gcd": 2, "tictactoe": 10}, {"gcd": 2, "tictactoe": 10})
    for environment in study.environments:
        run = Run(environment, "rebn", 0, None)
        solved = {"gcd": 2, "tictactoe": 90}
        results.write(run, result(study, run, 50, elsewhere=solved, measured=measured_digests(study)))
    found = report(results).matrix
    assert found is not None
    cell = found.cells["fifteen", "tictactoe"]
    assert cell.share.mean == pytest.approx(110 / 300)
    assert not cell.carries_over
    assert not cell.loses


def test_the_matrix_has_a_figure_with_a_frame_where_a_policy_was_trained(tmp_path: Path) -> None:
    study = Study.model_validate({**PLAN, "measured_in": TWO})
    found = report(measured(study, tmp_path, {"gcd": 2, "tictactoe": 10}, {"gcd": 50, "tictactoe": 30}))
    drawn = figures.transfers(found)
    assert {"fifteen", "gcd", "tictactoe"} <= set(re.findall(r"<text[^>]*>([^<]+)</text>", drawn))
    assert drawn.count('<g id="patch_') == 4 + 1 + 2, "cells, a frame, and the grounds of figure and plot"
    assert drawn.count(figures.UNKNOWN) == 2, "nobody was trained in tictactoe, so there is no gain to compare with"
    assert "Outlines: " in drawn


def test_the_matrix_has_no_outlines_if_every_gain_is_known(tmp_path: Path) -> None:
    study = Study.model_validate({**PLAN, "measured_in": {"gcd": TWO["gcd"]}})
    drawn = figures.transfers(report(measured(study, tmp_path, {"gcd": 2}, {"gcd": 50})))
    assert figures.UNKNOWN not in drawn
    assert "Outlines: " not in drawn


ENVIRONMENTS = (
    "fifteen-easy", "gcd", "guess-easy", "guess-hard", "hanoi-easy", "hangman", "lcm", "count-bits", "siblings", "sums",
    "leg-counting", "tictactoe",
)  # fmt: skip


def measured_in_each_other(folder: Path, seeds: int, solved: dict[str, tuple[int, int]]) -> Matrix:
    """The matrix of twelve environments: before its training, each policy solves the first number of episodes in an
    environment, and the second one after it."""
    own = {name: {"recipe": name} for name in ENVIRONMENTS}
    alone = {"rebn": {"title": "as it is"}}
    study = Study.model_validate(
        {**PLAN, "environments": own, "measured_in": own, "variants": alone, "seeds": seeds, "episodes": 100}
    )
    before, after = ({name: solved.get(name, (0, 0))[place] for name in ENVIRONMENTS} for place in (0, 1))
    found = report(measured(study, folder, before, after)).matrix
    assert found is not None
    return found


def test_what_training_elsewhere_changes_on_average_is_said_with_few_seeds(tmp_path: Path) -> None:
    found = measured_in_each_other(tmp_path, 2, {"fifteen-easy": (44, 4), "gcd": (40, 44), "guess-easy": (4, 50)})
    less, equal, more = (found.averages[name] for name in ("fifteen-easy", "gcd", "guess-easy"))
    assert (less.trained_in, less.before, less.after) == (11, pytest.approx(0.44), pytest.approx(0.04))
    assert less.is_less
    assert not equal.is_less
    assert not equal.is_more
    assert more.is_more
    assert more.trained_in == 10, "guess-hard is the same game with more numbers"
    assert [found.on_average(name) for name in ("fifteen-easy", "gcd", "guess-easy")] == ["4 ↓", "44", "50 ↑"]
    assert found.sentences[1:] == [
        "On average over the other environments that they were trained in, policies solve clearly more than before any "
        "training in 1 of 12 columns, and clearly less in 1; versions of an environment are columns of their own.",
        "Trained in 10 other environments, policies solve 50 % of guess-easy on average, and 4 % before any training.",
        "Trained in 11 other environments, policies solve 4 % of fifteen-easy on average, and 44 % before any "
        "training.",
        "With fewer than 3 trainings in an environment, nothing is said about a single pair.",
    ]


def test_the_measurement_before_is_one_and_counts_as_such(tmp_path: Path) -> None:
    """All policies solve the same afterwards, so the error of the average is that of what they are compared with."""
    average = measured_in_each_other(tmp_path, 2, {"gcd": (30, 42)}).averages["gcd"]
    assert average.change.interval.mean == pytest.approx(0.12)
    assert average.change.interval.low < 0 < average.change.interval.high
    assert average.change.p_value < 0.05


def test_environments_that_differ_much_are_no_average_that_is_claimed(tmp_path: Path) -> None:
    own = {name: {"recipe": name} for name in ENVIRONMENTS}
    alone = {"rebn": {"title": "as it is"}}
    plan = {**PLAN, "environments": own, "measured_in": {"kuhn": {"recipe": "kuhn"}}, "variants": alone, "seeds": 2}
    study = Study.model_validate(plan)
    results = measured(study, tmp_path, {"kuhn": 40}, {"kuhn": 0})
    for run in results.planned():
        if run.environment in ENVIRONMENTS[:3]:
            results.write(run, result(study, run, 50, elsewhere={"kuhn": 100}, measured=measured_digests(study)))
    found = report(results).matrix
    assert found is not None
    average = found.averages["kuhn"]
    assert average.after == pytest.approx(1 / 4)
    assert not average.is_less


def test_of_many_environments_those_are_counted_where_every_training_rises(tmp_path: Path) -> None:
    rising = {name: (10, 60) for name in ENVIRONMENTS if name != "gcd"}
    found = measured_in_each_other(tmp_path, 3, {**rising, "gcd": (40, 44)})
    assert found.sentences[0] == (
        "In 11 of 12 environments with at least 3 trainings, each training solves clearly more than the first policy "
        "(95 % intervals of the held-out episodes)."
    )
    assert found.cells["gcd", "fifteen-easy"].gain == 1.0
    assert found.cells["fifteen-easy", "gcd"].gain is None


def test_a_page_has_a_row_of_the_averages(tmp_path: Path) -> None:
    own = {name: {"recipe": name} for name in ENVIRONMENTS}
    study = Study.model_validate({**PLAN, "environments": own, "measured_in": TWO, "seeds": 2})
    page = documents.markdown(
        report(measured(study, tmp_path, {"gcd": 2, "tictactoe": 40}, {"gcd": 2, "tictactoe": 3}))
    )
    assert "| *trained in others, on average* | 2 | 3 ↓ |" in page
    assert documents.AVERAGES in page
