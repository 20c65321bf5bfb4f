"""The probabilities of whole responses are those with which the policy writes them."""

import math
from collections import Counter
from pathlib import Path

import pytest
import torch

import gem
from gem.agents.agent import Request
from gem.analysis.exact.dynamics import Dynamics
from gem.analysis.exact.values import ExactValues
from gem.analysis.true_advantage import fork, true_advantage, turns
from gem.rollout import EpisodeRequest, rollout
from gem.training.policy.contexts import ContextWriter, InputMode
from gem.training.policy.distribution import PolicyChooser, response_probabilities
from gem.training.policy.policies import load_policy
from gem.training.policy.policy_agent import PolicyAgent
from gem.training.policy.tokenizing_agent import CUT_OFF_ACTION
from tests.engine.training.conftest import BANDIT

PUZZLE = "game:FifteenPuzzle-v0-easy"


def requests_of(env_id: str, seeds: range) -> list[Request]:
    found = []
    for seed in seeds:
        env = gem.make(env_id)
        observation, info = env.reset(seed=seed)
        found.append(Request(env, observation, info, 1, episode=seed))
    return found


def chooser_of(model: str | Path, input_mode: InputMode, temperature: float = 1.0) -> PolicyChooser:
    policy = load_policy(str(model))
    writer = ContextWriter(policy.prompt_format, input_mode=input_mode, max_tokens=8, max_length=128)
    return PolicyChooser(policy, writer, temperature)


def test_they_are_the_frequencies_of_what_is_written(tiny: Path) -> None:
    [found] = chooser_of(tiny, "transcript").distributions(requests_of(BANDIT, range(1)))
    agent = PolicyAgent(tiny, temperature=1.0, input_mode="transcript", max_tokens=8)
    actions = [decision.action for decision in agent.act(requests_of(BANDIT, range(400)))]
    counts = Counter(actions)
    assert 0.9 < sum(found.values()) <= 1 + 1e-6
    likely = {action: probability for action, probability in found.items() if probability > 0.02}
    assert len(likely) == 4
    for action, probability in likely.items():
        spread = math.sqrt(400 * probability * (1 - probability))
        assert abs(counts[action] - 400 * probability) <= 4 * spread, action


def test_the_cache_and_the_whole_forward_pass_agree(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chooser = chooser_of(tiny, "transcript", 1.5)
    prompts = [chooser.writer.prompt(request) for request in requests_of(BANDIT, range(1))]
    prompts.append([*prompts[0], *prompts[0]])
    cached = list(response_probabilities(chooser.policy, prompts, 8, 1.5, 1e-3))
    monkeypatch.setattr("gem.training.policy.distribution.NanoPolicy", type(None))
    plain = list(response_probabilities(chooser.policy, prompts, 8, 1.5, 1e-3))
    for one, other in zip(cached, plain, strict=True):
        assert one == pytest.approx(other, abs=1e-5)


def test_at_temperature_0_one_response_is_certain(tiny: Path) -> None:
    [found] = chooser_of(tiny, "transcript", 0.0).distributions(requests_of(BANDIT, range(1)))
    agent = PolicyAgent(tiny, temperature=0.0, input_mode="transcript", max_tokens=8)
    [decision] = agent.act(requests_of(BANDIT, range(1)))
    assert found == {decision.action: 1.0}


def test_what_does_not_end_in_time_is_one_response(tiny: Path) -> None:
    chooser = chooser_of(tiny, "transcript")
    prompts = [chooser.writer.prompt(request) for request in requests_of(BANDIT, range(1))]
    [found] = response_probabilities(chooser.policy, prompts, 2, 1.0, 1e-6)
    assert found[CUT_OFF_ACTION] > 0.9


@pytest.mark.long
@pytest.mark.parametrize(
    ("env_id", "input_mode", "count"), [(PUZZLE, "markov", 10), ("duel:TicTacToe-v0-vs-random", "markov", 6)]
)
def test_exact_advantages_of_a_policy_agree_with_forks(env_id: str, input_mode: InputMode, count: int) -> None:
    torch.set_num_threads(1)
    agent = PolicyAgent("nano-base", temperature=1.0, input_mode=input_mode, max_tokens=8)
    dynamics = Dynamics(env_id, {}, (), reads_past=input_mode == "transcript")
    values = ExactValues(dynamics, PolicyChooser(agent.policy, agent.writer, 1.0), discount=0.9)
    checked, within = 0, 0
    for record in rollout(agent, [EpisodeRequest(i, env_id, 2**40 + i) for i in range(count)]):
        taken = list(turns(record.identity, [turn.action for turn in record.turns]))
        values.prepare(taken)
        for start, action in taken:
            exact = values.advantage(start, action)
            found = fork(agent, record.identity, start, action, count=48)
            assert found is not None
            measured = true_advantage(found, 0.9)
            checked += 1
            within += abs(measured.mean - exact.mean) <= (measured.half_width or 0.1) + exact.error
    assert checked >= 15
    assert within >= 0.85 * checked, f"{within} of {checked}"
