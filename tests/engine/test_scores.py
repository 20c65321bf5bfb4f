"""Intervals, benchmarks, baselines and job specifications."""

import random
import re
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

import gem
from gem import benchmarks
from gem.agents import has_expert
from gem.benchmarks import normalize
from gem.check.benchmark_file import PUBLIC_DATA
from gem.errors import InvalidArgument
from gem.evaluation.scores import interval, wilson
from gem.evaluation.spec import EvaluationSpec
from tests.yardstick import times_the_yardstick

EASY, HARD = "game:GuessTheNumber-v0-easy", "game:GuessTheNumber-v0-hard"
FEWER_SEEDS = {"game:Game2048-v1-extreme-hard": 200}
"""An episode of the expert takes a thousand turns."""


def test_the_interval_of_a_proportion_is_the_textbook_one() -> None:
    mean, low, high = interval([1.0] * 270 + [0.0] * 230)
    assert mean == 0.54
    assert (low, high) == pytest.approx((0.496, 0.584), abs=0.004)


def test_an_interval_covers_the_truth_about_19_times_in_20() -> None:
    draw = random.Random(2)
    covered = 0
    for _ in range(200):
        _, low, high = interval([draw.random() ** 2 for _ in range(80)])
        covered += low <= 1 / 3 <= high
    assert 182 <= covered <= 199


def test_intervals_of_equal_few_and_many_values() -> None:
    assert interval([0.3] * 5) == interval([0.3] * 50) == (0.3, 0.3, 0.3)
    assert interval([1.0, 2.0]) == (1.5, 1.5, 1.5)
    many = [random.Random(i).random() for i in range(10_000)]
    assert times_the_yardstick(lambda: interval(many)) < 20
    with pytest.raises(InvalidArgument):
        interval([])


def test_the_scale_runs_from_random_to_best() -> None:
    assert normalize(0.7, 0.7, 1.0) == 0
    assert normalize(1.0, 0.7, 1.0) == 1
    assert normalize(0.4, 0.7, 1.0) == pytest.approx(-1)
    with pytest.raises(InvalidArgument):
        normalize(1, 1, 1)


@pytest.mark.parametrize("name", benchmarks.names())
def test_a_benchmark_names_registered_environments_and_measured_references(name: str) -> None:
    benchmark = benchmarks.load(name)
    assert benchmark.version >= 1
    assert len(set(benchmark.env_ids)) == len(benchmark.entries) >= 1
    for entry in benchmark.entries:
        baseline = benchmarks.baseline(entry.env_id, "random", entry.env_version)
        assert baseline is not None
        assert entry.random_return == baseline.mean_return < entry.best_return
        is_public = entry.open_set == PUBLIC_DATA
        assert is_public or not set(entry.seeds) & set(range(baseline.n)), "the reference is measured on other seeds"
        assert benchmark.entry(entry.env_id) is entry


def test_every_game_has_its_baselines() -> None:
    for spec in gem.registry.specs():
        if spec.category != "game":
            continue
        for agent in ("random", "expert"):
            row = benchmarks.baseline(spec.id, agent)
            if agent == "expert" and not has_expert(spec.id):
                assert row is None
                continue
            assert row is not None, f"run `python -m bench.baselines {spec.family}`"
            assert row.env_version == spec.version
            assert row.n == FEWER_SEEDS.get(spec.id, 500)
            assert row.low <= row.mean_return <= row.high


def test_an_unknown_benchmark_is_named() -> None:
    with pytest.raises(InvalidArgument, match="Did you mean games"):
        benchmarks.load("gaems")
    with pytest.raises(InvalidArgument, match="The benchmarks are games"):
        benchmarks.load("chess")


def test_a_specification_says_what_is_played() -> None:
    spec = EvaluationSpec(agent="random", env_ids=[EASY, HARD], episodes_per_env=3, seed=9, max_turns=2)
    assert spec.parts == [(EASY, 9, 3, 0), (HARD, 9, 3, 0)]
    assert spec.episodes_total == 6
    assert spec.all_wrappers == [{"name": "time_limit", "max_turns": 2}]
    assert EvaluationSpec.model_validate_json(spec.model_dump_json()) == spec


def test_a_benchmark_decides_environments_and_seeds() -> None:
    spec = EvaluationSpec(agent="expert", benchmark="games")
    assert [part.env_id for part in spec.parts] == benchmarks.load("games").env_ids
    assert EvaluationSpec.model_validate_json(spec.model_dump_json()) == spec


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"env_ids": []}, "Choose at least one environment, or a benchmark."),
        ({"env_ids": [EASY, EASY]}, "An environment is chosen twice."),
        ({"env_ids": ["game:Sokoban-v0-esay"]}, "Did you mean game:Sokoban-v0-easy"),
        ({"episodes_per_env": 10**9}, "must be from 1 to 10,000, not 1,000,000,000."),
        ({"seed": -1}, "The seed must be from 0"),
        ({"num_envs": 0}, "parallel environments must be from 1 to 256"),
        ({"max_turns": 0}, "The turn limit must be from 1 to 1,000"),
        ({"benchmark": "golf"}, "There is no benchmark 'golf'."),
        ({"benchmark": "games"}, "decides which environments are played; choose none yourself, or choose no"),
        ({"env_ids": [], "benchmark": "games", "max_turns": 3}, "own turn limits; leave yours out."),
        ({"colour": 1}, "Extra inputs are not permitted"),
        ({"agent": "No Such"}, "String should match"),
    ],
)
def test_a_specification_that_cannot_be_is_refused_in_a_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        EvaluationSpec.model_validate({"agent": "random", "env_ids": [EASY], **changes})
    assert sentence in refusal.value.errors()[0]["msg"]


@pytest.mark.parametrize(
    "chosen",
    [
        {"env_ids": [EASY]},
        {"episodes_per_env": 7},
        {"seed": 7},
        {"max_turns": 3},
        {"max_episode_tokens": 1000},
        {"max_episode_money": 1},
        {"retries": 1},
        {"count_as_failed": ["environment"]},
        {"stop_against": "random"},
        {"wrappers": [{"name": "compact"}]},
        {"hidden_seeds": True, "repeats": 2},
        {"hidden_seeds": True, "token_budget": 10},
        {"hidden_seeds": True, "money_budget": 10},
        {"hidden_seeds": True, "turn_budget": 10},
        {"hidden_seeds": True, "max_error_share": 1},
        {"benchmark": "math-sample", "hidden_seeds": True},
        {"benchmark": None, "env_ids": [EASY], "hidden_seeds": True},
    ],
)
def test_what_a_benchmark_excludes_is_told_in_words(chosen: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as refusal:
        EvaluationSpec.model_validate({"agent": "random", "benchmark": "games", **chosen})
    sentence = refusal.value.errors()[0]["msg"]
    assert not [name for name in EvaluationSpec.model_fields if "_" in name and name in sentence], sentence
    assert re.search(r"[;:] (leave|choose|ask|play)", sentence), "it does not say what to do: " + sentence


def test_leaving_out_the_environments_is_refused() -> None:
    with pytest.raises(ValidationError, match="at least one environment, or a benchmark"):
        EvaluationSpec(agent="random")


def test_a_share_that_was_always_or_never_seen_still_has_an_interval() -> None:
    always, never = wilson(500, 500), wilson(0, 500)
    assert always.low == pytest.approx(0.9924, abs=1e-4)
    assert never.high == pytest.approx(0.0076, abs=1e-4)
    assert always.high == pytest.approx(1.0)


def test_a_tie_may_count_for_half_in_a_share() -> None:
    even = wilson(1.5, 3)
    assert even.mean == 0.5
    assert even.low == pytest.approx(1 - even.high)
    assert wilson(1, 3).low < even.low < wilson(2, 3).low


def test_a_seed_is_ranked_where_a_benchmark_has_it() -> None:
    entry = benchmarks.load("games").entries[0]
    first, last = entry.seeds[0], entry.seeds[-1]
    ranked = [seed for seed in (first - 1, first, last, last + 1) if benchmarks.ranking(entry.env_id, seed)]
    assert ranked == [first, last]
    assert benchmarks.ranking("math:GSM8K", first) is None


def test_a_request_keeps_the_version_of_its_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = EvaluationSpec(agent="random", benchmark="games")
    present = benchmarks.load("games")
    assert spec.benchmark_version == present.version
    stored = spec.model_dump(mode="json")
    changed = replace(present, version=present.version + 1, entries=present.entries[:1])
    monkeypatch.setattr(benchmarks, "load", {"games": changed}.__getitem__)
    again = EvaluationSpec.model_validate(stored)
    assert not again.is_current
    assert again.benchmark_version == present.version
    assert [part.env_id for part in again.parts] == present.env_ids
    assert EvaluationSpec(agent="random", benchmark="games").env_ids == (present.env_ids[0],)
    for version in (0, present.version, changed.version + 1):
        with pytest.raises(ValidationError, match=f"version {changed.version}, not {version}"):
            EvaluationSpec(agent="random", benchmark="games", benchmark_version=version)


def test_a_place_in_the_batch_says_which_try_it_is() -> None:
    spec = EvaluationSpec(agent="random", env_ids=[EASY, HARD], episodes_per_env=3, repeats=2)
    assert spec.parts == [(EASY, 0, 3, 0), (EASY, 0, 3, 1), (HARD, 0, 3, 0), (HARD, 0, 3, 1)]
    assert [spec.repeat_of(slot) for slot in range(12)] == [0] * 3 + [1] * 3 + [0] * 3 + [1] * 3
