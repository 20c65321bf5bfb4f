"""What recipes reached: the files, the sentences made of them, and the verdicts of the command that repeats one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gem.training import recipes, results
from gem.training.__main__ import main
from gem.training.results import CURVE_POINTS, RecipeResult, SeedResult, condensed


def result(before: int, *afters: int, constant: int | None = None) -> RecipeResult:
    seeds = [
        SeedResult(
            seed=seed,
            before=before,
            after=after,
            greedy=after,
            constant=constant,
            cpu_seconds=40.0 + seed,
            curve=(0.1, 0.9),
        )
        for seed, after in enumerate(afters)
    ]
    return RecipeResult(recipe="x", commit="abc", episodes=500, seeds=tuple(seeds))


def test_a_result_is_a_block_for_programs_and_a_sentence_for_people() -> None:
    found = result(50, 400, 450, 425, constant=150)
    assert found.expected == {
        "before": 0.1, "after": [0.8, 0.9, 0.85], "constant": [0.3, 0.3, 0.3], "cpu_seconds": [40, 41, 42],
        "episodes": 500, "commit": "abc",
    }  # fmt: skip
    assert found.in_words == (
        "From 10 % to 80 %, 90 %, 85 % solved of 500 episodes on other seeds, in 40 to 42 CPU seconds; 3 seeds. "
        "The commonest action alone, always taken, solves 30 % at most."
    )


@pytest.mark.parametrize(
    ("before", "after", "constant", "rises"),
    [(50, 400, None, True), (50, 70, None, False), (50, 400, 390, False), (50, 400, 100, True), (400, 50, None, False)],
)
def test_it_rises_if_the_intervals_are_apart_also_from_one_answer(
    before: int, after: int, constant: int | None, rises: bool
) -> None:
    assert result(before, 450, after, constant=constant).rises is rises


def test_a_curve_is_condensed_evenly() -> None:
    assert condensed([]) == ()
    assert condensed([0.25, 0.75]) == (0.25, 0.75)
    many = condensed([place / 1000 for place in range(1000)])
    assert len(many) == CURVE_POINTS
    assert many == tuple(sorted(many))
    assert sum(many) / CURVE_POINTS == pytest.approx(0.4995, abs=1e-3)


def test_every_file_is_of_a_recipe_and_shows_that_it_learns(capsys: pytest.CaptureFixture[str]) -> None:
    names = {recipe.name: recipe for recipe in recipes.all_recipes()}
    files = sorted(results.FOLDER.glob("*.json"))
    assert files
    assert main(["--list", "--json"]) == 0
    listed = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(listed) == set(names)
    for path in files:
        found = results.result_of(path.stem)
        assert found is not None
        assert found.recipe == path.stem
        assert [one.seed for one in found.seeds] == [0, 1, 2]
        assert found.rises, path.stem
        assert names[path.stem].expected == found.in_words
        assert listed[path.stem]["expected"] == found.expected
    assert listed["core-ab"]["expected"] is None
    run_here = [recipe for recipe in names.values() if recipe.status == "reproduced here"]
    assert [recipe.name for recipe in run_here if recipe.expected == recipes.NOT_MEASURED] == []


@pytest.mark.parametrize("state", ["interrupted", "stopped"])
def test_a_training_that_has_not_ended_is_not_recorded(
    state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bench.training import recipe
    from gem.training import trainer

    monkeypatch.setattr(trainer, "train", lambda *_: state)
    recorded = (results.FOLDER / "gcd.json").read_bytes()
    with pytest.raises(SystemExit, match=f"gcd, seed 0: the training was {state}"):
        recipe.check("gcd", 1, record=True, folder=tmp_path)
    assert (results.FOLDER / "gcd.json").read_bytes() == recorded


def test_what_was_not_recorded_cannot_be_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from bench.training.recipe import _verdict, check

    assert check("core-ab", 1, record=False, folder=tmp_path) == 2
    assert "Record what it reaches with --record" in capsys.readouterr().err
    promised = result(50, 400, 450)
    assert _verdict(result(50, 405, 440), 0, promised) == ""
    assert _verdict(result(50, 300, 440), 0, promised) == "recorded: 80.0%"
    assert _verdict(result(50, 60, 440), 0, promised) == "does not rise clearly"
    assert _verdict(result(50, 400, 440, constant=390), 0, None) == "no better than one action: 78.0%"
