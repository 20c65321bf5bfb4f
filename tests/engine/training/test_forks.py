"""Turns are continued anew, and what they are worth is computed from that."""

import statistics
from pathlib import Path
from typing import Any

import pytest

from gem.credit import forked_advantages
from gem.errors import InvalidArgument
from gem.training.collecting.batch import RolloutBatch
from gem.training.collecting.collector import Collector, capacity_of
from gem.training.collecting.forks import forked_states
from gem.training.policy.policies import load_policy
from gem.training.policy.sampler import make_sampler
from gem.training.run_folder import RunFolder
from gem.training.spec import TrainingSpec, read_spec
from gem.training.trainer import train
from tests.engine.training.test_runs import same_weights, untimed


def batch_of(spec: TrainingSpec) -> RolloutBatch:
    policy = load_policy(spec.model)
    sampler = make_sampler(policy, capacity_of(spec, spec.episodes), spec.max_tokens)
    return Collector(spec, policy, sampler, range(spec.episodes)).collect(0, lambda _group: spec.stages[-1])


@pytest.fixture
def forked(small: dict[str, Any]) -> dict[str, Any]:
    return {**small, "fork_turns": 1, "fork_count": 3}


def test_credit_by_hand() -> None:
    """Two turns, the second of which is forked: 1 came out, and 0 and 0.5 in two continuations; another episode."""
    rewards = [[0.2, 1.0], [0.0], [0.5], [0.4]]
    states = [{1: 0}, {0: 0}, {0: 0}, {}]
    credit = forked_advantages(rewards, states, discount=0.5)
    assert credit.targets == [[pytest.approx(0.2 + 0.5 * 0.5), 1.0], [0.0], [0.5], [0.4]]
    usual = (0.45 + 0.4) / 2
    differences = [0.45 - usual, 1 - 0.25, 0 - 0.75, 0.5 - 0.5, 0.4 - usual]
    scale = statistics.pstdev(differences)
    found = [value for row in credit.advantages for value in row]
    assert found == pytest.approx([value / scale for value in differences])


def test_with_every_turn_forked_it_is_reward_plus_next_value_minus_value() -> None:
    """As in VinePPO, with the values of the other episodes that went on from a state."""
    rewards = [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0], [0.0]]
    states = [{0: 0, 1: 1, 2: 2}, {0: 0}, {0: 1}, {0: 2}]
    credit = forked_advantages(rewards, states, discount=1.0)
    after_two = (1.0 + 0.0) / 2
    after_one = (after_two + 1.0) / 2
    differences = {(0, 2): 1.0 - 0.0, (0, 1): after_two - 1.0, (0, 0): after_one - 0.0, (3, 0): 0.0 - 1.0}
    scale = credit.advantages[0][2] / differences[0, 2]
    for (episode, turn), difference in differences.items():
        assert credit.advantages[episode][turn] == pytest.approx(scale * difference)


def test_continuations_begin_with_the_state_before_the_turn(forked: dict[str, Any]) -> None:
    batch = batch_of(read_spec(forked))
    assert len(batch.forks) == len(batch.episodes) == 32
    assert len({fork.start.turn for fork in batch.forks}) > 1, "turns are drawn"
    for fork in batch.forks:
        assert 2 <= len(fork.continuations) <= 3
        whole = fork.episode.record
        for one in fork.continuations:
            assert one.record.identity.seed == whole.identity.seed
            assert len(one.responses) == len(one.rewards) == len(one.record.turns)
            assert [response.turn for response in one.responses] == list(range(len(one.rewards)))
            before = fork.episode.sequences[0].tokens[: fork.episode.responses[fork.start.turn].start]
            assert one.sequences[0].tokens[: len(before)] == before, "it has read the same"
        actions = {one.record.turns[0].action for one in fork.continuations}
        assert actions
    assert len({one.record.turns[0].action for fork in batch.forks for one in fork.continuations}) > 2


def test_only_where_continuations_differ_are_there_more(forked: dict[str, Any]) -> None:
    batch = batch_of(read_spec({**forked, "fork_count": 6}))
    for fork in batch.forks:
        first = [sum(one.rewards) for one in fork.continuations[:2]]
        assert len(fork.continuations) == (2 if first[0] == first[1] else 6)
    counts = {len(fork.continuations) for fork in batch.forks}
    assert counts == {2, 6}
    states = forked_states(batch.learned, batch.forks)
    assert sum(map(len, states)) == len(batch.forks) + sum(len(fork.continuations) for fork in batch.forks)


def test_what_is_forked_does_not_change_the_episodes(forked: dict[str, Any]) -> None:
    plain, batch = batch_of(read_spec({**forked, "fork_turns": 0})), batch_of(read_spec(forked))
    assert [one.record.turns for one in plain.episodes] == [one.record.turns for one in batch.episodes]
    measured, expected = batch.metrics(list), plain.metrics(list)
    assert measured.pop("continuations") == (len(batch.learned) - 32) / 32 > expected.pop("continuations") == 0
    assert 0 < measured.pop("forks_differ") < 1
    expected.pop("forks_differ")
    assert measured == expected
    assert batch.turn_count > plain.turn_count
    assert batch.episode_count == len(batch.learned)


def test_a_training_goes_on_as_if_it_had_never_stopped(forked: dict[str, Any], tmp_path: Path) -> None:
    spec, whole, broken = read_spec({**forked, "fork_turns": 2}), tmp_path / "whole", tmp_path / "broken"
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
    assert rows[-1]["episodes"] == sum(round(32 * (1 + row["continuations"])) for row in rows)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"algorithm": "ppo"}, "choose algorithm=rebn"),
        ({"credit_unit": "token"}, "and credit_unit=turn"),
    ],
)
def test_what_does_not_go_with_it_is_refused(forked: dict[str, Any], given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        read_spec({**forked, **given})
