"""Alarms are raised by runs that collapse, and not by healthy ones or by noise.

`curves.json` has real runs: those of `python -m bench.training.figures`, the same with GRPO and PPO, and recipes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from gem.errors import InvalidArgument
from gem.training import recipes
from gem.training.run_folder import RunFolder
from gem.training.spec import read_spec
from gem.training.study.alarms import COLLAPSE, KINDS, Alarm, alarm_from, find_alarms, stop_reason
from gem.training.study.noise import Curve
from gem.training.trainer import train

Row = dict[str, float]
CURVES: dict[str, dict[str, list[float]]] = json.loads((Path(__file__).parent / "curves.json").read_text("utf-8"))
HEALTHY = sorted(set(CURVES) - {"settled", "scattered", "steps-too-long"})


def rows_of(name: str) -> list[Row]:
    columns = CURVES[name]
    values = zip(*columns.values(), strict=True)
    return [{"update": i, **dict(zip(columns, row, strict=True))} for i, row in enumerate(values, 1)]


def steady(updates: int, **changes: float) -> list[Row]:
    """Updates that are all the same: a policy that neither learns nor fails."""
    told = {"return": 0.7, "success": 0.4, "invalid": 0.01, "entropy": 0.5, "kl": 0.002, "zero_advantage_share": 0.1}
    return [{"update": i, "episodes": 128 * i, **told, **changes} for i in range(1, updates + 1)]


def spliced(*parts: list[Row]) -> list[Row]:
    return [{**row, "update": i, "episodes": 128 * i} for i, row in enumerate((r for part in parts for r in part), 1)]


def by_name(rows: list[Row]) -> dict[str, Alarm]:
    return {alarm.name: alarm for alarm in find_alarms(rows)}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_run_raises_no_alarm(name: str) -> None:
    assert len(HEALTHY) >= 8
    assert find_alarms(rows_of(name)) == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("settled", {"entropy": 37}),
        ("scattered", {"invalid": 18, "return": 18, "success": 18, "flat": 19}),
        ("steps-too-long", {"kl": 1, "invalid": 5, "flat": 6}),
    ],
)
def test_a_run_that_failed_raises_the_alarms_of_its_failure(name: str, expected: dict[str, int]) -> None:
    found = by_name(rows_of(name))
    assert {key: found[key].began for key in expected} == expected
    assert set(found) <= {*expected, "success"}


def test_the_warning_of_steps_that_are_too_long_comes_before_the_collapse() -> None:
    assert [alarm.name for alarm in find_alarms(rows_of("steps-too-long")[:3])] == ["kl"]


@pytest.mark.parametrize(
    ("bad", "name"),
    [
        ({"invalid": 1.0}, "invalid"),
        ({"entropy": 0.01}, "entropy"),
        ({"kl": 0.4}, "kl"),
        ({"zero_advantage_share": 1.0}, "flat"),
        ({"return": 0.2}, "return"),
        ({"success": 0.1}, "success"),
    ],
)
def test_each_alarm_begins_with_its_sign_and_ends_without_it(bad: Row, name: str) -> None:
    rows = spliced(steady(12), steady(12, **bad), steady(12))
    (alarm,) = find_alarms(rows[:24])
    assert (alarm.name, alarm.holds, alarm.metric) == (name, True, next(iter(bad)))
    assert 13 <= alarm.began <= 17
    assert alarm.text
    assert "{" not in alarm.text
    (over,) = find_alarms(rows)
    assert not over.holds
    assert over.ended is not None
    assert 25 <= over.ended <= 29
    assert alarm_from(json.loads(json.dumps(asdict(over)))) == over


@pytest.mark.parametrize("bad", [{"invalid": 1.0}, {"entropy": 0.01}, {"kl": 0.4}, {"zero_advantage_share": 1.0}])
def test_two_unusual_updates_are_no_alarm(bad: Row) -> None:
    assert find_alarms(spliced(steady(12), steady(2, **bad), steady(12), steady(2, **bad), steady(3))) == ()


def noisy(seed: int, updates: int, share: float = 0.4) -> Iterator[Row]:
    """A policy that stays as it is, in batches of 32 episodes."""
    rng = random.Random(seed)
    for row in steady(updates):
        solved = sum(rng.random() < share for _ in range(32)) / 32
        yield {**row, "episodes": 32 * row["update"], "success": solved, "return": solved + rng.gauss(0, 0.3) / 32**0.5}


def test_noise_raises_no_alarm() -> None:
    alarmed = [seed for seed in range(100) if find_alarms(noisy(seed, 120))]
    assert len(alarmed) <= 1, alarmed


def test_a_fall_of_a_quarter_in_small_batches_is_found_in_ten_updates() -> None:
    for seed in range(10):
        rows = spliced([*noisy(seed, 30, 0.6)], [*noisy(seed + 100, 10, 0.25)])
        found = find_alarms([{**row, "episodes": 32 * row["update"]} for row in rows])
        assert "success" in {alarm.name for alarm in found}, seed


def test_a_policy_that_learns_the_format_gets_time_and_one_that_does_not_is_told() -> None:
    learning = [{**row, "invalid": 0.9 - 0.04 * i} for i, row in enumerate(steady(20))]
    assert find_alarms(learning) == ()
    assert by_name(steady(13, invalid=0.8))["invalid"].began == 11
    assert by_name(steady(3, invalid=1.0))["invalid"].began == 1


def test_the_next_stage_of_a_curriculum_is_no_fall() -> None:
    harder = {"stage": 1, "return": 0.1, "success": 0.05}
    assert find_alarms(spliced(steady(20, success=0.9), steady(20, **harder))) == ()
    assert set(by_name(spliced(steady(5), steady(12, stage=1), steady(9, **harder)))) == {"return", "success"}


def test_where_all_is_solved_nothing_is_left_to_learn() -> None:
    assert find_alarms(spliced(steady(9), steady(20, success=0.97, entropy=0.001, zero_advantage_share=1.0))) == ()


def test_without_success_the_return_says_whether_low_entropy_is_bad() -> None:
    start = steady(9, success=0.0)
    better = steady(20, **{"success": 0.0, "entropy": 0.01, "return": 5.0})
    assert find_alarms(spliced(start, better)) == ()
    assert set(by_name(spliced(start, steady(20, success=0.0, entropy=0.01)))) == {"entropy"}


@pytest.mark.parametrize(("later_score", "names"), [(0.5, set()), (0.25, {"entropy"})])
def test_with_self_play_the_score_against_the_pool_says_whether_low_entropy_is_bad(
    later_score: float, names: set[str]
) -> None:
    drawn = {"success": 0.0, "pool_games": 200.0}
    rows = spliced(steady(10, **drawn, pool_score=0.2), steady(15, **drawn, entropy=0.01, pool_score=later_score))
    assert set(by_name(rows)) == names


def test_missing_and_infinite_metrics_raise_nothing() -> None:
    assert find_alarms([]) == ()
    assert find_alarms({"update": i} for i in range(1, 30)) == ()
    assert find_alarms({**row, "kl": float("nan"), "entropy": None} for row in steady(20)) == ()


def test_the_standard_error_is_that_of_the_difference_of_two_means() -> None:
    rng, curve = random.Random(3), Curve()
    for _ in range(60):
        curve.add(rng.gauss(2.0, 0.5))
    assert curve.error == pytest.approx(0.5 * (2 / 5) ** 0.5, rel=0.2)
    share = Curve()
    for _ in range(10):
        share.add(0.5, of=100)
    assert share.error == pytest.approx((0.25 / 100 * 2 / 5) ** 0.5)


def test_a_specification_names_what_to_stop_for() -> None:
    data = recipes.data("guess-easy")
    assert read_spec(data).stop_on == ()
    assert read_spec({**data, "stop_on": "collapse"}).stop_on == ("collapse",)
    for name in KINDS:
        assert read_spec({**data, "stop_on": [name]}).stop_on == (name,)
    with pytest.raises(InvalidArgument, match="stop_on"):
        read_spec({**data, "stop_on": ["tiredness"]})


def test_collapse_stands_for_three_alarms_and_only_those_that_hold_stop() -> None:
    rows = spliced(steady(12), steady(3, kl=0.4), steady(12, kl=0.002), steady(3, invalid=1.0))
    alarms = find_alarms(rows)
    assert stop_reason(alarms, ["kl"], 30) == ""
    assert stop_reason(alarms, [], 30) == ""
    assert stop_reason(alarms, ["collapse"], 30).startswith("The training stopped by itself after update 30: invalid")
    assert set(COLLAPSE) == {"invalid", "return", "success"}


def test_a_training_stops_by_itself_with_a_checkpoint_and_goes_on_if_told_to(
    small: dict[str, Any], tmp_path: Path
) -> None:
    cut_off = {**small, "updates": 6, "max_tokens": 1, "stop_on": "invalid"}  # no action fits into one token
    spec, folder = read_spec(cut_off), RunFolder(tmp_path / "run")
    assert train(spec, folder.path) == "stopped"
    state = folder.state()
    assert state["state"] == "stopped"
    assert state["update"] < 6
    assert "stopped by itself after update" in state["reason"]
    assert len(folder.metrics()) == state["update"]
    assert list(folder.checkpoints.iterdir())
    assert train(spec, folder.path) == "stopped"
    assert len(folder.metrics()) == state["update"], "it does not begin another update"
    on = spec.model_copy(update={"stop_on": ()})
    folder.extend(on)
    assert train(on, folder.path) == "finished"
    assert len(folder.metrics()) == 6
