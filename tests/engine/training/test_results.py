"""What recipes reached: the files, the sentences made of them, and the verdicts of the command that repeats one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gem.agents.kinds import make_agent
from gem.training import recipes, results
from gem.training.__main__ import main
from gem.training.results import (
    CURVE_POINTS,
    RecipeResult,
    SeedResult,
    SelfPlayResult,
    SelfPlaySeedResult,
    Tally,
    condensed,
)


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


def self_play_result(*lost: int, exploitability: float | None = 0.1) -> SelfPlayResult:
    """Of 500 games, 400 are lost before the training; a best opponent wins 0.5 then, if that is known."""
    seeds = [
        SelfPlaySeedResult(
            seed=seed,
            before=Tally(won=0, tied=100, lost=400),
            after=Tally(won=0, tied=500 - after, lost=after),
            exploitability_before=None if exploitability is None else 0.5,
            exploitability_after=exploitability,
            cpu_seconds=200.0 + seed,
        )
        for seed, after in enumerate(lost)
    ]
    return SelfPlayResult(
        recipe="x", commit="abc", opponent="expert", episodes=500, unit="chips per deal", seeds=tuple(seeds)
    )


def test_a_result_is_a_block_for_programs_and_a_sentence_for_people() -> None:
    found = result(50, 400, 450, 425, constant=150)
    assert found.expected == {
        "before": 0.1, "after": [0.8, 0.9, 0.85], "constant": [0.3, 0.3, 0.3], "cpu_seconds": [40, 41, 42],
        "episodes": 500, "problems": None, "commit": "abc",
    }  # fmt: skip
    assert found.in_words == (
        "From 10 % to 80 %, 90 % and 85 % of 500 episodes on other seeds solved, with 3 training seeds, in 40 to 42 "
        "CPU seconds. "
        "The commonest action alone, always taken, solves 30 % at most."
    )
    repeated = found.model_copy(update={"problems": 31}).in_words
    assert "seconds. These episodes ask 31 different questions. The" in repeated
    assert (
        "to 80 % of 500 episodes on other seeds solved, with each of 2 training seeds, in"
        in result(50, 400, 400).in_words
    )
    assert "to 80 % of 500 episodes on other seeds solved, with one training seed, in" in result(50, 400).in_words
    assert found.model_copy(update={"problems": 500}).in_words == found.in_words


@pytest.mark.parametrize(
    ("before", "after", "constant", "rises"),
    [(50, 400, None, True), (50, 70, None, False), (50, 400, 390, False), (50, 400, 100, True), (400, 50, None, False)],
)
def test_it_rises_if_the_intervals_are_apart_also_from_one_answer(
    before: int, after: int, constant: int | None, rises: bool
) -> None:
    assert result(before, 450, after, constant=constant).rises is rises


def test_a_result_of_self_play_says_what_is_lost_and_what_a_best_opponent_wins() -> None:
    found = self_play_result(10, 0)
    assert found.in_words == (
        "Of 500 games against the agent expert it loses 400 before and 10, 0 after the training, in 200 to 201 CPU "
        "seconds; 2 seeds. A best opponent wins 0.50 chips per deal from it before, and 0.10, 0.10 after."
    )
    assert self_play_result(10, exploitability=None).in_words.endswith("in 200 CPU seconds; 1 seed.")
    assert found.expected["lost_after"] == [0.02, 0.0]
    assert found.expected["lost_greedy"] == [None, None]
    assert found.expected["exploitability_after"] == [0.1, 0.1]
    (one,) = self_play_result(10).seeds
    greedy = found.model_copy(update={"seeds": (one.model_copy(update={"greedy": Tally(won=0, tied=495, lost=5)}),)})
    assert "; 1 seed. With the most probable response of each turn it loses 5. A best" in greedy.in_words
    assert greedy.expected["lost_greedy"] == [0.01]


@pytest.mark.parametrize(
    ("lost", "exploitability", "improves"),
    [((10, 0), None, True), ((10, 390), None, False), ((400,), 0.4, True), ((400,), 0.5, False), ((0,), 0.9, True)],
)
def test_self_play_improves_if_it_loses_less_or_is_less_exploitable(
    lost: tuple[int, ...], exploitability: float | None, improves: bool
) -> None:
    assert self_play_result(*lost, exploitability=exploitability).improves is improves


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
    for path in sorted(results.SELF_PLAY_FOLDER.glob("*.json")):
        played = results.self_play_result_of(path.stem)
        assert played is not None
        assert (played.recipe, [one.seed for one in played.seeds]) == (path.stem, [0, 1, 2])
        assert played.improves, path.stem
        assert names[path.stem].expected == played.in_words
        assert listed[path.stem]["expected"] == played.expected
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
    assert _verdict(result(50, 300, 440), 0, promised) == "recorded: 80.0% at least"
    assert _verdict(result(50, 60, 440), 0, promised) == "does not rise clearly"
    assert _verdict(result(50, 400, 440, constant=390), 0, None) == "no better than one action: 78.0%"


def test_a_training_by_self_play_is_compared_with_the_worst_seed_recorded() -> None:
    from bench.training.self_play_recipe import show, verdict

    promised = self_play_result(10, 20)
    found = self_play_result(21, 60, 380)
    assert verdict(found, found.seeds[0], promised) == ""
    assert verdict(found, found.seeds[1], promised) == "recorded: 20 lost at most"
    worse = self_play_result(20, exploitability=0.2)
    assert verdict(worse, worse.seeds[0], promised) == "recorded: an exploitability of 0.10 at most"
    same = self_play_result(395, exploitability=0.5)
    assert verdict(same, same.seeds[0], None) == "does not improve"
    assert show(promised, None)
    assert not show(same, None)


def test_games_are_counted_by_the_reward_of_the_policy() -> None:
    from bench.training.self_play_recipe import tally
    from gem.rollout import EpisodeRequest, rollout

    requests = [EpisodeRequest(i, "duel:TicTacToe-v0", i, {"opponent": "expert"}) for i in range(6)]
    records = list(rollout(make_agent("expert"), requests, num_envs=3))
    assert tally(records) == Tally(won=0, tied=6, lost=0)
    assert tally(records[:0]) == Tally(won=0, tied=0, lost=0)
