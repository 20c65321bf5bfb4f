"""The cookbook's own rollout plays our environment; only the sampling client is a scripted policy."""

import pickle
from typing import Any

import pytest

from tests.packages import framework

framework("tinker_cookbook", "tinker-cookbook")

from tinker_cookbook.completers import TokenCompleter, TokensWithLogprobs
from tinker_cookbook.rl.data_processing import trajectory_to_data
from tinker_cookbook.rl.rollouts import do_single_rollout

from examples.tinker_env import GemEnv, Group, SeedsBuilder
from tests.examples.scripted import expert_plays, replies, several_turns, tokenizer


class Policy(TokenCompleter):
    """Samples what it is told to."""

    def __init__(self, next_reply: Any) -> None:
        self.next_reply = next_reply

    async def __call__(self, model_input: Any, stop: Any, *, max_tokens: int | None = None) -> TokensWithLogprobs:
        ids = self.next_reply()
        assert stop == ids[-1:]
        return TokensWithLogprobs(tokens=ids, maybe_logprobs=[-1.0] * len(ids))


async def test_the_cookbook_plays_an_episode_to_its_end() -> None:
    tokens, seed = tokenizer(), several_turns()
    trajectory = await do_single_rollout(Policy(replies(seed, tokens)), GemEnv(tokens, seed))
    actions, rewards, _ = expert_plays(seed)
    assert [transition.reward for transition in trajectory.transitions] == rewards
    assert [tokens.decode(transition.ac.tokens) for transition in trajectory.transitions] == [
        action + tokens.eos_token for action in actions
    ]
    assert trajectory.transitions[-1].metrics == {"success": 1.0}


async def test_an_episode_is_learned_from_as_one_sequence() -> None:
    tokens, seed = tokenizer(), several_turns()
    trajectory = await do_single_rollout(Policy(replies(seed, tokens)), GemEnv(tokens, seed))
    data = trajectory_to_data(trajectory, 1.0)
    assert len(data) == 1
    learned = sum(data[0].loss_fn_inputs["mask"].data)
    assert learned == sum(len(transition.ac.tokens) for transition in trajectory.transitions)


async def test_a_group_is_one_seed_and_travels_to_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = tokenizer()
    monkeypatch.setattr("examples.tinker_env.get_tokenizer", lambda _: tokens)
    train, held_out = await SeedsBuilder(batches=2, batch_size=3, group_size=4)()
    assert held_out is not None
    groups = [group for index in range(len(train)) for group in train.get_batch(index)]
    assert [group.seed for group in groups if isinstance(group, Group)] == list(range(6))
    envs = await pickle.loads(pickle.dumps(groups[1])).make_envs()
    beginnings = [(await env.initial_observation())[0].to_ints() for env in envs]
    assert len(beginnings) == 4
    assert all(beginning == beginnings[0] for beginning in beginnings)
