"""A policy plays both seats, or one against opponents from a pool of its earlier weights."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from gem.errors import InvalidArgument
from gem.records import episode_files
from gem.training.collecting.batch import PlayedEpisode, RolloutBatch
from gem.training.collecting.collector import Collector, capacity_of
from gem.training.collecting.pool import NOW, Played, Pool
from gem.training.collecting.self_play import Match, SelfPlay, learned_weights
from gem.training.policy.contexts import ContextWriter
from gem.training.policy.policies import load_policy
from gem.training.policy.sampler import make_sampler
from gem.training.run_folder import RunFolder
from gem.training.spec import TrainingSpec, read_spec
from gem.training.study.alarms import find_alarms
from gem.training.trainer import train
from tests.engine.training.conftest import ARM_DUEL, ARMS, BANDIT
from tests.engine.training.test_runs import same_weights, untimed


@pytest.fixture
def duel(small: dict[str, Any]) -> dict[str, Any]:
    return {**small, "env_id": ARM_DUEL, "self_play": True, "pool_every": 1, "pool_size": 2}


def pool_of(spec: TrainingSpec, *updates: int) -> Pool:
    """A pool that has the first weights under some numbers."""
    pool = Pool(spec.pool_size, spec.pool_agents)
    for update in updates:
        pool.enter(update, learned_weights(dict(load_policy(spec.model).named_parameters())))
    return pool


def batch_of(spec: TrainingSpec, pool: Pool, update: int = 0) -> RolloutBatch:
    policy = load_policy(spec.model)
    sampler = make_sampler(policy, capacity_of(spec, spec.episodes), spec.max_tokens)
    collector = Collector(spec, policy, sampler, range(spec.episodes), pool, lambda: load_policy(spec.model))
    return collector.collect(update, lambda _group: spec.stages[-1])


def collector_match(spec: TrainingSpec, pool: Pool, group: int) -> Match:
    writer = ContextWriter(
        load_policy(spec.model).prompt_format, input_mode=spec.input_mode, max_tokens=8, max_length=128
    )
    return SelfPlay(spec, pool, writer, lambda: load_policy(spec.model)).match(0, group)


def by_episode(batch: RolloutBatch) -> dict[int, list[PlayedEpisode]]:
    found: dict[int, list[PlayedEpisode]] = {}
    for episode in batch.episodes:
        found.setdefault(episode.record.index, []).append(episode)
    return found


def test_both_seats_are_learned_from_if_it_plays_itself(duel: dict[str, Any]) -> None:
    spec = read_spec({**duel, "pool_share": 0})
    batch = batch_of(spec, pool_of(spec, 0))
    assert batch.episode_count == len(batch.distinct_episodes) == 32
    both = [own for own in by_episode(batch).values() if len(own) == 2]
    assert len(both) >= 28, "the others end with an answer of the first seat that cannot be parsed"
    for first, second in both:
        assert {first.record.seat, second.record.seat} == {0, 1}
        assert sum(first.rewards) == -sum(second.rewards)
        for episode in (first, second):
            assert len(episode.responses) == len(episode.rewards) == len(episode.turns) == 1
            assert episode.turns[0].seat == episode.record.seat
            assert episode.record.total_reward == sum(episode.rewards)
    assert {(game.first, game.second) for game in batch.games} == {(NOW, NOW)}


def test_a_reward_wrapper_changes_what_both_seats_learn_from(duel: dict[str, Any]) -> None:
    plain = read_spec({**duel, "pool_share": 0})
    scaled = read_spec({**duel, "pool_share": 0, "wrappers": [{"name": "scale_reward", "factor": 100, "offset": -1}]})
    batches = [by_episode(batch_of(spec, pool_of(spec, 0))) for spec in (plain, scaled)]
    assert batches[0].keys() == batches[1].keys()
    for index, episodes in batches[0].items():
        expected = [[100 * reward - 1 for reward in episode.rewards] for episode in episodes]
        assert [episode.rewards for episode in batches[1][index]] == expected
    assert any(any(episode.rewards) for episodes in batches[0].values() for episode in episodes)


def test_opponents_teach_nothing(duel: dict[str, Any]) -> None:
    spec = read_spec({**duel, "pool_share": 1})
    batch = batch_of(spec, pool_of(spec, 0, 10))
    assert all(len(own) == 1 for own in by_episode(batch).values())
    assert Counter(episode.record.seat for episode in batch.episodes)[0] in range(12, 17), "the seats take turns"
    opponents = Counter(name for game in batch.games for name in (game.first, game.second))
    assert set(opponents) == {NOW, "random", "0", "10"}
    assert batch.turn_count == len(batch.episodes), "one response of its own in each"
    assert any(len(episode.record.turns) == 2 for episode in batch.episodes)


def test_an_earlier_policy_plays_with_its_own_weights(duel: dict[str, Any]) -> None:
    """One whose answers cannot be parsed loses all its games."""
    spec = read_spec({**duel, "pool_share": 1, "pool_agents": []})
    pool = pool_of(spec, 0)
    pool.enter(1, {name: torch.zeros_like(tensor) for name, tensor in pool.weights[0].items()})
    scores: dict[str, list[float]] = {"0": [], "1": []}
    for episode in batch_of(spec, pool).distinct_episodes:
        other = collector_match(spec, pool, episode.record.index).opponent
        scores[other].append(episode.record.total_reward)
    assert len(scores["1"]) >= 5, "it has no chance to act if the other answers first"
    assert sum(scores["1"]) / len(scores["1"]) > 0.4 > sum(scores["0"]) / len(scores["0"])


def test_a_training_goes_on_as_if_it_had_never_stopped(duel: dict[str, Any], tmp_path: Path) -> None:
    spec = read_spec({**duel, "held_out_every": 2, "held_out_episodes": 8})
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    train(spec, whole)

    def cancel(row: dict[str, float]) -> None:
        if row["update"] == 2:
            (broken / "cancel").touch()

    assert train(spec, broken, cancel) == "cancelled"
    (broken / "cancel").unlink()
    assert train(spec, broken) == "finished"
    assert same_weights(whole, broken)
    assert untimed(whole) == untimed(broken)
    rows = RunFolder(whole).metrics()
    assert [row["update"] for row in rows if "held_out_success" in row] == [2, 4]
    assert all(0 <= row["pool_score"] <= 1 and row["pool_games"] > 0 for row in rows)
    assert all("rating" in row and row["rating_of_random"] == 0 for row in rows)
    assert {name for name in rows[-1] if name.startswith("rating_of_")} == {
        "rating_of_random",
        "rating_of_2",
        "rating_of_3",
    }
    assert rows[-1]["episodes"] == 4 * 32


def test_it_learns_the_best_arm_from_games_alone(duel: dict[str, Any], tmp_path: Path) -> None:
    spec = read_spec({**duel, "updates": 10, "episodes": 64, "checkpoint_seconds": 1000})
    train(spec, tmp_path)
    rows = RunFolder(tmp_path).metrics()
    first, *_, last = [
        Counter(turn.action[7:8] for episode in episode_files.read(path) for turn in episode.record.turns)
        for path in sorted((tmp_path / "episodes").glob("*.jsonl"))
    ]
    best = max(ARMS, key=lambda arm: ARMS[arm])
    assert first[best] < 0.5 * sum(first.values())
    assert last[best] > 0.7 * sum(last.values())
    assert rows[-1]["rating"] > rows[0]["rating"] > -1000
    assert not [alarm for alarm in find_alarms(rows) if alarm.name in {"return", "success"}]


def test_ratings_follow_results_and_move_with_the_policy(tmp_path: Path) -> None:
    pool = Pool(2, ["random"])
    weights = {"w": torch.arange(3.0)}
    pool.enter(0, weights)
    assert pool.names == ("random", "0")
    assert pool.ratings() == {}
    pool.record([(Played(NOW, "random", "won"), 30), (Played("random", NOW, "won"), 10)])
    pool.record([(Played(NOW, "0", "tied"), 10), (Played(NOW, NOW, "won"), 5)])
    ratings = pool.ratings()
    assert ratings["random"] == 0 < ratings[NOW]
    pool.enter(10, weights)
    assert pool.ratings()["10"] == pytest.approx(ratings[NOW]), "it entered as it was"
    pool.record([(Played(NOW, "10", "won"), 20)])
    assert pool.ratings()[NOW] > pool.ratings()["10"]
    pool.save(tmp_path)
    again = Pool(2, ["random"])
    assert again.restore(tmp_path, "cpu")
    assert again.ratings() == pool.ratings()
    assert torch.equal(again.weights[10]["w"], weights["w"])
    pool.enter(20, weights)
    assert pool.names == ("random", "10", "20"), "the oldest has left"
    assert not any("0" in names for names in pool.games)
    assert not Pool(2, []).restore(tmp_path / "nothing", "cpu")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"env_id": BANDIT, "self_play": True}, "has 1 seat, and self_play needs two"),
        ({"env_id": ARM_DUEL}, "or set self_play=true"),
        ({"env_id": ARM_DUEL, "self_play": True, "pool_agents": ["random", "random"]}, "once in pool_agents"),
        (
            {"env_id": ARM_DUEL, "self_play": True, "algorithm": "grpo", "dynamic_sampling": 1},
            "with self_play ratings count them",
        ),
    ],
)
def test_what_does_not_go_with_it_is_refused(small: dict[str, Any], given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        read_spec({**small, **given})
