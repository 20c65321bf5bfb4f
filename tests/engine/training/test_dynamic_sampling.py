"""Groups without signal are replaced, and metrics do not look at what was selected."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gem.errors import InvalidArgument
from gem.training.checkpoints.checkpoint import list_checkpoints
from gem.training.collecting.batch import RolloutBatch
from gem.training.collecting.collector import Collector, _without_signal
from gem.training.policy.policies import load_policy
from gem.training.policy.sampler import make_sampler
from gem.training.run_folder import RunFolder
from gem.training.spec import TrainingSpec, read_spec
from gem.training.trainer import train


def batch_of(spec: TrainingSpec) -> RolloutBatch:
    policy = load_policy(spec.model)
    sampler = make_sampler(policy, spec.episodes, spec.max_tokens, spec.microbatch_tokens, spec.generation_tokens)
    return Collector(spec, policy, sampler, range(spec.episodes)).collect(0, lambda _group: spec.stages[-1])


def groups_without_signal(batch: RolloutBatch) -> int:
    returns: dict[int, set[float]] = {}
    for episode in batch.episodes:
        returns.setdefault(episode.group, set()).add(episode.record.total_reward)
    return sum(len(values) == 1 for values in returns.values())


@pytest.fixture
def groups(small: dict[str, Any]) -> dict[str, Any]:
    """Pairs that only success is paid for: most of them have no signal."""
    success_alone = [{"name": "reward_success"}]
    return {**small, "algorithm": "grpo", "group_size": 2, "episodes": 64, "wrappers": success_alone}


def test_a_group_whose_returns_only_rounding_tells_apart_has_no_signal() -> None:
    """All cells of a board opened in two turns, or one by one: the sums of twentieths differ in their last digit."""
    returns = [17 / 20 + 3 / 20, sum([1 / 20] * 20)]
    assert returns[0] != returns[1]
    episodes: list[Any] = [
        SimpleNamespace(group=group, record=SimpleNamespace(total_reward=value + change * (group == 1)))
        for group in (0, 1)
        for value, change in zip(returns, (0.0, -0.05), strict=True)
    ]
    assert _without_signal(episodes) == {0}


def test_groups_without_signal_are_replaced(groups: dict[str, Any]) -> None:
    plain = batch_of(read_spec(groups))
    sampled = batch_of(read_spec({**groups, "dynamic_sampling": 4}))
    assert groups_without_signal(plain) >= 16, "else there is nothing to replace"
    assert groups_without_signal(sampled) < groups_without_signal(plain) / 2
    assert [episode.record.index for episode in sampled.episodes] == list(range(64))
    assert sampled.episode_count == 64 + len(sampled.replaced)
    assert len(sampled.replaced) >= 2 * groups_without_signal(plain)
    seeds = [episode.record.identity.seed for episode in (*sampled.episodes, *sampled.replaced)]
    assert len(set(seeds)) == len(seeds) / 2, "each group has a seed of its own, in every round"


def test_metrics_are_those_of_the_episodes_before_any_was_replaced(groups: dict[str, Any]) -> None:
    plain = batch_of(read_spec(groups)).metrics(list)
    sampled = batch_of(read_spec({**groups, "dynamic_sampling": 4}))
    measured = sampled.metrics(list)
    assert measured.pop("replaced") == len(sampled.replaced) / 64 > plain.pop("replaced") == 0
    assert measured == plain
    shares = [bool(episode.record.success) for episode in sampled.episodes]
    assert sum(shares) / len(shares) > measured["success"], "what is kept is selected"


def test_without_it_a_batch_is_as_before(groups: dict[str, Any]) -> None:
    batch = batch_of(read_spec(groups))
    assert batch.measured == batch.episodes
    assert batch.replaced == []
    assert batch.episode_count == len(batch.episodes)


def test_a_training_with_it_repeats_bit_for_bit(groups: dict[str, Any], tmp_path: Path) -> None:
    spec = read_spec({**groups, "dynamic_sampling": 2, "updates": 2, "threads": 1})
    weights = []
    for name in ("first", "second"):
        train(spec, tmp_path / name)
        weights.append((list_checkpoints(tmp_path / name / "checkpoints")[-1] / "model.safetensors").read_bytes())
    assert weights[0] == weights[1]
    rows = RunFolder(tmp_path / "first").metrics()
    assert rows[-1]["episodes"] == sum(round(64 * (1 + row["replaced"])) for row in rows)
    assert rows[0]["zero_advantage_share"] < 0.5


def test_it_needs_groups(small: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match="choose algorithm=grpo"):
        read_spec({**small, "algorithm": "rebn", "dynamic_sampling": 1})
