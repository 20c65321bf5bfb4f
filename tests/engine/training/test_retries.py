"""Seeds that were not solved are tried again, and metrics do not look at what was selected."""

import json
from pathlib import Path
from typing import Any

import pytest

from gem.errors import InvalidArgument
from gem.training.checkpoints.checkpoint import list_checkpoints
from gem.training.collecting.batch import RolloutBatch
from gem.training.collecting.collector import FIRST_SEED, Collector
from gem.training.collecting.retries import choose_retries, follow_outcomes, outcomes_of
from gem.training.policy.policies import load_policy
from gem.training.policy.sampler import make_sampler
from gem.training.run_folder import RunFolder
from gem.training.spec import TrainingSpec, read_spec
from gem.training.trainer import train

UNSOLVED = [FIRST_SEED + 11, FIRST_SEED + 12, FIRST_SEED + 13]


def batch_of(spec: TrainingSpec, unsolved: list[int], share: range | None = None) -> RolloutBatch:
    policy, share = load_policy(spec.model), share or range(spec.episodes)
    sampler = make_sampler(policy, len(share), spec.max_tokens, spec.microbatch_tokens, spec.generation_tokens)
    return Collector(spec, policy, sampler, share).collect(0, lambda _group: spec.stages[-1], unsolved)


def seeds_of(batch: RolloutBatch) -> list[int]:
    return [episode.record.identity.seed for episode in batch.episodes]


@pytest.fixture
def retrying(small: dict[str, Any]) -> dict[str, Any]:
    return {**small, "algorithm": "rebn", "episodes": 16, "retry_unsolved": 0.25, "threads": 1}


def test_a_share_of_the_batch_tries_unsolved_seeds_again_and_the_rest_is_as_without(retrying: dict[str, Any]) -> None:
    plain = seeds_of(batch_of(read_spec({**retrying, "retry_unsolved": 0}), UNSOLVED))
    seeds = seeds_of(batch_of(read_spec(retrying), UNSOLVED))
    again = [place for place, seed in enumerate(seeds) if seed in UNSOLVED]
    assert again == [3, 7, 11, 15]
    assert len({seeds[place] for place in again}) > 1, "they are drawn"
    assert all(seeds[place] == plain[place] for place in range(16) if place not in again)
    assert seeds_of(batch_of(read_spec(retrying), [])) == plain, "nothing is unsolved yet"


@pytest.mark.parametrize("share", [0.1, 1 / 3, 0.5, 0.9])
def test_the_share_is_kept_and_some_seeds_are_always_new(small: dict[str, Any], share: float) -> None:
    spec = read_spec({**small, "algorithm": "rebn", "retry_unsolved": share})
    assert [len(choose_retries(spec, 4, range(count), UNSOLVED)) for count in (1, 2, 100)] == [
        0,
        int(2 * share),
        int(100 * share),
    ]


def test_metrics_are_those_of_new_seeds(retrying: dict[str, Any]) -> None:
    batch = batch_of(read_spec(retrying), UNSOLVED)
    new = [episode for episode in batch.episodes if episode.record.identity.seed not in UNSOLVED]
    again = [episode for episode in batch.episodes if episode.record.identity.seed in UNSOLVED]
    metrics = batch.metrics(list)
    assert (len(new), len(again)) == (12, 4)
    assert metrics["return"] == pytest.approx(sum(episode.record.total_reward for episode in new) / 12)
    assert metrics["success"] == sum(bool(episode.record.success) for episode in new) / 12
    assert metrics["retried_success"] == sum(bool(episode.record.success) for episode in again) / 4
    assert batch.learned == batch.episodes, "all of them teach"


def test_what_is_replaced_by_dynamic_sampling_gets_new_seeds(retrying: dict[str, Any]) -> None:
    spec = {**retrying, "algorithm": "grpo", "group_size": 2, "wrappers": [{"name": "reward_success"}]}
    plain, batch = (batch_of(read_spec({**spec, "dynamic_sampling": rounds}), UNSOLVED) for rounds in (0, 2))
    replaced = {episode.group for episode in batch.replaced}
    assert replaced & batch.retried, "else nothing is shown"
    for episode in batch.episodes:
        assert (episode.record.identity.seed in UNSOLVED) == (episode.group in batch.retried - replaced)
    ours, theirs = batch.metrics(list), plain.metrics(list)
    assert ours.pop("replaced") > theirs.pop("replaced") == 0
    assert ours == theirs


def test_a_seed_stays_until_it_is_solved_or_others_take_its_place(small: dict[str, Any]) -> None:
    spec = read_spec({**small, "algorithm": "rebn", "episodes": 2, "retry_unsolved": 0.5})
    unsolved = follow_outcomes(spec, [], [7.0, 0.0, 8.0, 1.0, 9.0, 0.0])
    assert unsolved == [7, 9]
    assert follow_outcomes(spec, unsolved, [9.0, 0.0, 5.0, 0.0]) == [7, 9, 5], "the oldest first"
    assert follow_outcomes(spec, unsolved, [7.0, 0.0, 7.0, 1.0]) == [9]
    assert follow_outcomes(spec, unsolved, [1.0, 0.0, 2.0, 0.0, 3.0, 0.0]) == [9, 1, 2, 3], "two batches are kept"


def test_a_group_is_solved_if_half_of_it_is(small: dict[str, Any]) -> None:
    one_round = {**small, "algorithm": "grpo", "group_size": 4, "episodes": 64, "env_kwargs": {"rounds": 1}}
    batch = batch_of(read_spec(one_round), [])
    groups: dict[int, list[bool]] = {}
    for episode in batch.episodes:
        groups.setdefault(episode.record.identity.seed, []).append(bool(episode.record.success))
    expected = {seed: float(sum(solved) >= 2) for seed, solved in groups.items()}
    outcomes = outcomes_of(batch)
    assert dict(zip(outcomes[::2], outcomes[1::2], strict=True)) == expected
    assert set(expected.values()) == {0.0, 1.0}
    assert any(0 < sum(solved) < 2 for solved in groups.values()), "or the half is not shown"


def test_two_processes_play_and_note_what_one_does(retrying: dict[str, Any]) -> None:
    spec = read_spec(retrying)
    whole = batch_of(spec, UNSOLVED)
    halves = [batch_of(spec, UNSOLVED, share) for share in (range(8), range(8, 16))]
    assert [seed for half in halves for seed in seeds_of(half)] == seeds_of(whole)
    assert [number for half in halves for number in outcomes_of(half)] == outcomes_of(whole)


def test_a_training_goes_on_as_if_it_had_never_stopped(retrying: dict[str, Any], tmp_path: Path) -> None:
    spec, whole, broken = read_spec({**retrying, "updates": 4}), tmp_path / "whole", tmp_path / "broken"
    assert train(spec, whole) == "finished"

    def cancel(row: dict[str, float]) -> None:
        if row["update"] == 2:
            (broken / "cancel").touch()

    assert train(spec, broken, cancel) == "cancelled"
    (broken / "cancel").unlink()
    assert train(spec, broken) == "finished"
    last = [list_checkpoints(path / "checkpoints")[-1] for path in (whole, broken)]
    assert (last[0] / "model.safetensors").read_bytes() == (last[1] / "model.safetensors").read_bytes()
    notes = [json.loads((path / "trainer.json").read_text())["unsolved"] for path in last]
    assert notes[0] == notes[1] != []
    assert all(0 <= row["retried_success"] <= 1 for row in RunFolder(whole).metrics())


def test_seeds_of_a_stage_are_forgotten_with_it(retrying: dict[str, Any], tmp_path: Path) -> None:
    easier = {"env_id": retrying["env_id"], "until_success": 1.0, "updates": 1}
    stages = read_spec({**retrying, "curriculum": [easier], "updates": 1, "env_kwargs": {"rounds": 3}})
    train(stages, tmp_path / "staged")
    train(read_spec({**retrying, "updates": 1}), tmp_path / "plain")
    notes = [
        json.loads((list_checkpoints(tmp_path / name / "checkpoints")[-1] / "trainer.json").read_text())
        for name in ("staged", "plain")
    ]
    assert notes[0]["stage"] == 1
    assert notes[0]["unsolved"] == []
    assert notes[1]["unsolved"] != []


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"self_play": True, "env_id": "duel:TicTacToe-v0"}, "set retry_unsolved=0"),
        ({"target_success": 0.5, "curriculum": [{"env_id": "game:GuessTheNumber-v0-easy"}]}, "set one to 0"),
        ({"retry_unsolved": 1}, "below 1"),
    ],
)
def test_what_it_cannot_go_with_is_said(retrying: dict[str, Any], settings: dict[str, Any], advice: str) -> None:
    with pytest.raises(InvalidArgument, match=advice):
        read_spec({**retrying, **settings})
