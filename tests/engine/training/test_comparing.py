"""Algorithms side by side, and what may be said of them."""

import re
from pathlib import Path

import pytest

from gem.cli import main
from gem.errors import InvalidArgument
from gem.evaluation.scores import student_t_interval
from gem.training.study.compare import ComparedRun, figure, plan, table, tune, verdict


def run(algorithm: str, discount: float, seed: int, success: float) -> ComparedRun:
    return ComparedRun(algorithm, discount, seed, success, success, 3.0, 10.0, (0.0, success))  # type: ignore[arg-type]


CLEAR = [run("rebn", 1, seed, 0.95 + 0.01 * seed) for seed in range(3)]
CLEAR += [run("grpo", 1, seed, 0.02 * seed) for seed in range(3)]
BLURRED = [run("ppo", 1, seed, success) for seed, success in enumerate((0.4, 0.6, 0.95))]


def test_an_interval_over_seeds_is_students() -> None:
    mean, low, high = student_t_interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert (high - low) / 2 == pytest.approx(4.303 * 1 / 3**0.5)
    with pytest.raises(InvalidArgument, match="at least two"):
        student_t_interval([1.0])


def test_an_order_is_claimed_where_intervals_are_apart() -> None:
    assert verdict(CLEAR).startswith("ReBN 1 solves more than GRPO.")
    assert "nothing is said" in verdict(CLEAR)


def test_no_order_is_claimed_where_intervals_overlap() -> None:
    assert verdict(CLEAR[:3] + BLURRED) == "All intervals overlap: these runs show no order."


def test_the_table_has_the_best_first_and_every_seed() -> None:
    rows = table(CLEAR + BLURRED)
    assert [row[0] for row in rows] == ["ReBN 1", "PPO 1", "GRPO"]
    assert rows[1][4] == "40% 60% 95%"
    assert rows[1][5] == "32%", "half of 65 %, for every curve begins with 0"


def test_budgets_are_equal_and_grpo_has_no_discount() -> None:
    specs = plan("fifteen-easy", ["rebn", "grpo"], [1.0, 0.9], 2, 7)
    assert [(spec.algorithm, spec.discount, spec.seed) for spec in specs] == [
        ("rebn", 1.0, 0), ("rebn", 1.0, 1), ("rebn", 0.9, 0), ("rebn", 0.9, 1), ("grpo", 1.0, 0), ("grpo", 1.0, 1)
    ]  # fmt: skip
    budgets = {spec.model_dump_json(exclude={"algorithm", "discount", "seed"}) for spec in specs}
    assert len(budgets) == 1


def test_where_an_episode_is_one_turn_a_discount_is_not_compared() -> None:
    specs = plan("arithmetic", ["rebn", "reinforce"], [1.0, 0.9], 2, 7)
    assert [(spec.algorithm, spec.discount) for spec in specs] == [("rebn", 1.0)] * 2 + [("reinforce", 1.0)] * 2


@pytest.mark.long
def test_every_setting_tries_the_same_values_and_goes_on_with_its_best(tmp_path: Path) -> None:
    said: list[str] = []
    specs = plan("fifteen-easy", ["rebn", "grpo"], [1.0], 2, 1)
    tuned, settings = tune(specs, "temperature", [1.0, 5.0], tmp_path, said.append)
    assert [(setting.variant, list(setting.solved_by_value)) for setting in settings] == [
        ("ReBN 1", [1.0, 5.0]), ("GRPO", [1.0, 5.0])
    ]  # fmt: skip
    solved = [setting.solved_by_value for setting in settings]
    assert all(shares[1.0] > shares[5.0] for shares in solved), "hardly a response is a move at 5"
    assert {spec.temperature for spec in tuned} == {1.0}
    assert [(spec.algorithm, spec.seed) for spec in tuned] == [(spec.algorithm, spec.seed) for spec in specs]
    assert len(said) == 4


def test_a_picture_has_a_curve_and_a_band_for_each_setting() -> None:
    picture = figure(CLEAR + BLURRED, "a title")
    assert picture.count('<g id="FillBetween') == 3
    assert re.findall(r"<text[^>]*>([^<]+)</text>", picture)[-4:] == ["a title", "ReBN 1", "GRPO", "PPO 1"]


@pytest.mark.parametrize("asked", ["learning_rate", "threads=1", "seed=1,2", "=1,2", "threads=1,1"])
def test_what_cannot_be_tuned_is_refused(asked: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "algorithms", "--tune", asked]) == 2
    assert "--tune takes a setting with two values or more" in capsys.readouterr().err


@pytest.mark.long
def test_the_command_trains_compares_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "algorithms", "--recipe", "fifteen-easy", "--algorithm", "rebn", "--algorithm", "grpo",
               "--discount", "1", "--seeds", "2", "--updates", "1", "--out", str(tmp_path)]  # fmt: skip
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "1 updates of 128 episodes" in printed
    assert "ReBN 1" in printed
    assert "GRPO" in printed
    assert (tmp_path / "fifteen-easy" / "solved.svg").read_text().startswith("<svg")
    before = sorted(tmp_path.rglob("result.json"))
    times = [path.stat().st_mtime for path in before]
    assert main(command) == 0
    assert [path.stat().st_mtime for path in before] == times
    assert main([*command[:-3], "2", *command[-2:]]) == 2, "these runs are shorter ones"
    assert "holds another training" in capsys.readouterr().err


def test_the_command_says_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "algorithms", "--algorithm", "sarsa"]) == 2
    assert "There is no algorithm 'sarsa'" in capsys.readouterr().err
