"""A trained policy as an agent."""

import gc
import weakref
from pathlib import Path

import pytest
import torch

import gem
from gem.agents import Request, make_agent
from gem.agents.agent import Exchange
from gem.errors import InvalidArgument
from gem.rollout import EpisodeRequest, rollout
from gem.training.policy import policy_agent
from tests.engine.training.conftest import BANDIT


def test_it_decides_the_same_for_the_same_seed_turn_and_history(tiny: Path) -> None:
    requests = [EpisodeRequest(i, BANDIT, seed=i) for i in range(12)]
    first = list(rollout(make_agent("policy", path=str(tiny)), requests, num_envs=12))
    second = list(rollout(make_agent("policy", path=str(tiny)), requests, num_envs=3))
    actions = [{r.index: [turn.action for turn in r.turns] for r in records} for records in (first, second)]
    assert actions[0] == actions[1]
    assert len({tuple(episode_actions) for episode_actions in actions[0].values()}) > 3


def test_temperature_0_plays_the_same_everywhere(tiny: Path) -> None:
    agent = make_agent("policy", path=str(tiny), temperature=0)
    records = list(rollout(agent, [EpisodeRequest(i, BANDIT, seed=i) for i in range(6)]))
    assert len({records[i].turns[0].action for i in range(6)}) == 1


def test_more_episodes_than_it_remembers_are_played(tiny: Path) -> None:
    agent = make_agent("policy", path=str(tiny))
    records = list(rollout(agent, [EpisodeRequest(i, BANDIT, seed=i) for i in range(300)], num_envs=300))
    assert len(records) == 300
    assert sum(record.success or False for record in records) > 2


@pytest.mark.parametrize(("small_policy", "threads"), [(4_000_000, 1), (10, 2)])
def test_a_small_policy_computes_in_one_thread_and_a_large_one_in_all(
    small_policy: int, threads: int, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_agent, "SMALL_POLICY", small_policy)
    agent = policy_agent.PolicyAgent(tiny)
    used: list[int] = []
    for module in agent.policy.modules():
        module.register_forward_hook(lambda *_: used.append(torch.get_num_threads()))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert list(rollout(agent, [EpisodeRequest(0, BANDIT, seed=0)]))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert set(used) == {threads}


def test_its_memory_is_free_as_soon_as_nobody_has_it(tiny: Path) -> None:
    """A worker makes an agent for each of its shards, and collects cyclic garbage seldom."""
    make_agent("policy", path=str(tiny))  # what the first import raises and catches refers to the first agent
    agent = make_agent("policy", path=str(tiny))
    gc.disable()
    try:
        assert len(list(rollout(agent, [EpisodeRequest(i, BANDIT, seed=i) for i in range(6)]))) == 6
        alive = weakref.ref(agent)
        del agent
        assert alive() is None
    finally:
        gc.enable()


def test_a_wrong_setting_is_refused(tiny: Path) -> None:
    with pytest.raises(InvalidArgument, match="temperature"):
        make_agent("policy", path=str(tiny), temperature=-1)
    with pytest.raises(InvalidArgument, match="does not take these settings"):
        make_agent("policy", path=str(tiny), speed=9)
    with pytest.raises(InvalidArgument, match="settings: missing 1 required positional argument: 'path'"):
        make_agent("policy")


def test_another_process_goes_on_with_what_was_kept_of_the_past(tiny: Path) -> None:
    first, other, forgetful = (make_agent("policy", path=str(tiny), temperature=0) for _ in range(3))
    env = gem.make(BANDIT, rounds=4)
    observation, info = env.reset(seed=5)
    past: list[Exchange] = []
    for turn in range(1, 4):
        (decision,) = first.act([Request(env, observation, info, turn)])
        past.append(Exchange(observation, info, decision.action))
        observation, _, _, _, info = env.step(decision.action)
    (expected,) = first.act([Request(env, observation, info, 4)])
    assert other.act([Request(env, observation, info, 4, past=past)]) == [expected]
    sequences = [agent._agent.contexts[id(env), 0].sequences[-1].tokens for agent in (first, other)]  # type: ignore[attr-defined]
    assert sequences[0] == sequences[1]
    assert forgetful.act([Request(env, observation, info, 4)])
