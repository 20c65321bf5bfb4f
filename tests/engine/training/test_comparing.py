"""Algorithms side by side, and what may be said of them."""

from pathlib import Path

import pytest

from gem.cli import main
from gem.errors import InvalidArgument
from gem.evaluate import student
from gem.training.compare import Run, plan, table, verdict


def run(algorithm: str, discount: float, seed: int, success: float) -> Run:
    return Run(algorithm, discount, seed, success, success, 3.0, 10.0)  # type: ignore[arg-type]


CLEAR = [run("rebn", 1, seed, 0.95 + 0.01 * seed) for seed in range(3)]
CLEAR += [run("grpo", 1, seed, 0.02 * seed) for seed in range(3)]
BLURRED = [run("ppo", 1, seed, success) for seed, success in enumerate((0.4, 0.6, 0.95))]


def test_an_interval_over_seeds_is_students() -> None:
    mean, low, high = student([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert (high - low) / 2 == pytest.approx(4.303 * 1 / 3**0.5)
    with pytest.raises(InvalidArgument, match="at least two"):
        student([1.0])


def test_an_order_is_claimed_where_intervals_are_apart() -> None:
    assert verdict(CLEAR).startswith("ReBN 1 solves more than GRPO.")
    assert "nothing is said" in verdict(CLEAR)


def test_no_order_is_claimed_where_intervals_overlap() -> None:
    assert verdict(CLEAR[:3] + BLURRED) == "All intervals overlap: these runs show no order."


def test_the_table_has_the_best_first_and_every_seed() -> None:
    rows = table(CLEAR + BLURRED)
    assert [row[0] for row in rows] == ["ReBN 1", "PPO 1", "GRPO"]
    assert rows[1][4] == "40% 60% 95%"


def test_budgets_are_equal_and_grpo_has_no_discount() -> None:
    specs = plan("fifteen-easy", ["rebn", "grpo"], [1.0, 0.9], 2, 7)
    assert [(spec.algorithm, spec.discount, spec.seed) for spec in specs] == [
        ("rebn", 1.0, 0), ("rebn", 1.0, 1), ("rebn", 0.9, 0), ("rebn", 0.9, 1), ("grpo", 1.0, 0), ("grpo", 1.0, 1)
    ]  # fmt: skip
    budgets = {spec.model_dump_json(exclude={"algorithm", "discount", "seed"}) for spec in specs}
    assert len(budgets) == 1


def test_the_command_trains_compares_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "algorithms", "--recipe", "fifteen-easy", "--algorithm", "rebn", "--algorithm", "grpo",
               "--discount", "1", "--seeds", "2", "--updates", "1", "--out", str(tmp_path)]  # fmt: skip
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "1 updates of 128 episodes" in printed
    assert "ReBN 1" in printed
    assert "GRPO" in printed
    before = sorted(tmp_path.rglob("result.json"))
    times = [path.stat().st_mtime for path in before]
    assert main(command) == 0
    assert [path.stat().st_mtime for path in before] == times


def test_the_command_says_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "algorithms", "--algorithm", "sarsa"]) == 2
    assert "There is no algorithm 'sarsa'" in capsys.readouterr().err
