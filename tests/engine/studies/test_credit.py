"""How the credit of algorithms is compared with the truth."""

import random
from importlib.util import find_spec
from pathlib import Path

import pytest

from gem.cli import main
from gem.errors import InvalidArgument
from gem.studies import credit, judging
from gem.studies.credit import AlgorithmCredit, CreditPoint, CreditStudy, Judged


def judged(error: float = 0.0, shift: float = 0.0) -> list[Judged]:
    """Turns with ReBN's credit equal to the truth, GRPO's opposite to it, and PPO's always the same."""
    draw = random.Random(0)
    truths = [draw.gauss(0, 1) for _ in range(200)]
    return [
        Judged(truth, error, {"rebn": truth + shift, "grpo": -truth, "ppo": 1.0, "reinforce": truth + 3})
        for truth in truths
    ]


def test_correlation_and_bias() -> None:
    turns = judged()
    assert credit.compare(turns, "rebn") == AlgorithmCredit(correlation=1.0, bias=0.0)
    assert credit.compare(turns, "grpo").correlation == -1.0
    assert credit.compare(turns, "ppo").correlation is None, "it does not vary"
    assert credit.compare(turns, "reinforce").correlation == 1.0
    assert credit.compare(turns, "reinforce").bias > 2.5


def test_few_turns_have_no_correlation() -> None:
    assert credit.compare(judged()[:5], "rebn").correlation is None


def test_noisy_truths_lower_the_ceiling() -> None:
    """A credit that is perfect correlates with noisy measurements as the ceiling says."""
    draw = random.Random(1)
    truths = [draw.gauss(0, 1) for _ in range(4000)]
    noisy = [Judged(truth + draw.gauss(0, 0.75), 0.75, {"rebn": truth}) for truth in truths]
    found = credit.compare(noisy, "rebn").correlation
    assert found == pytest.approx(credit.ceiling(noisy), abs=0.03)
    assert credit.ceiling(judged()) == 1.0
    assert credit.ceiling(judged(error=10.0)) == 0.0


def test_a_result_is_kept_by_recipe_and_seed(tmp_path: Path) -> None:
    same = dict.fromkeys(("reinforce", "rebn", "grpo", "ppo"), AlgorithmCredit(correlation=0.5, bias=0.1))
    point = CreditPoint.model_validate(
        {"update": 0, "success": 0.3, "mean_return": 0.3, "turns": 80, "ceiling": 0.9, "algorithms": same}
    )
    for seed in (1, 0):
        study = CreditStudy(recipe="guess-easy", env_id="game:x", discount=0.9, seed=seed, points=[point])
        credit.write(study, tmp_path)
    assert credit.recorded(tmp_path) == ["guess-easy"]
    assert [study.seed for study in credit.read("guess-easy", tmp_path)] == [0, 1]
    assert credit.read("guess-easy", tmp_path)[0].mean_correlation("ppo") == 0.5


def test_what_comes_with_the_engine_can_be_read() -> None:
    for recipe in credit.recorded():
        for study in credit.read(recipe):
            assert study.points[0].update == 0
            assert all(point.turns >= credit.FEWEST_TURNS for point in study.points)


@pytest.mark.skipif(find_spec("torch") is None, reason="trainings need torch, which `make test` installs")
def test_episodes_of_one_turn_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidArgument, match="no credit to divide"):
        judging.measure("gcd")
    assert main(["study", "credit", "gues-easy"]) == 2
    assert "Did you mean guess-easy?" in capsys.readouterr().err


@pytest.mark.long
def test_credit_is_measured_beside_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    """ReBN's credit and REINFORCE's differ in a shift alone; forks tell good moves from bad ones."""
    monkeypatch.setattr(judging, "POINTS", 2)
    found = judging.measure("fifteen-easy", updates=1)
    assert [point.update for point in found.points] == [0, 1]
    for point in found.points:
        by_name = point.algorithms
        assert by_name["rebn"].correlation == pytest.approx(by_name["reinforce"].correlation)
        assert point.ceiling > 0.5
        assert abs(by_name["rebn"].bias) < by_name["reinforce"].bias
