"""Oat's own multi-turn actor steps our vector. vLLM, DeepSpeed and Launchpad need GPUs or another Python: a scripted
policy answers for vLLM, and modules without contents stand where Oat imports them to start processes."""

import importlib
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from tests.packages import framework

framework("oat", "oat-llm")

from gem.agents import Request, make_agent
from tests.examples.hollow import hollow
from tests.examples.scripted import tokenizer

ABSENT = {
    *("vllm", "deepspeed", "launchpad", "mosec", "openai", "Levenshtein", "math_verify", "latex2sympy2_extended"),
    "pyarrow.plasma",  # newer pyarrow no longer has it
}


@pytest.fixture
def example() -> Iterator[Any]:
    with hollow(ABSENT, importers={"oat", "examples.oat_train"}):
        yield importlib.import_module("examples.oat_train")


def expert_model(actor: Any, tokens: Any) -> Any:
    """What `generate` returns if the expert is the policy."""
    expert = make_agent("expert")

    def generate(prompts: Sequence[str], sampling_params: Any) -> list[Any]:
        outputs = []
        for i, prompt in enumerate(prompts):
            env = actor.envs.env(i).unwrapped
            [decision] = expert.act([Request(env, prompt, {}, 1)])
            ids = tokens.encode(decision.action + tokens.eos_token, add_special_tokens=False)
            logprobs = [{token: SimpleNamespace(logprob=-1.0)} for token in ids]
            reply = SimpleNamespace(text=decision.action, token_ids=ids, logprobs=logprobs, finish_reason="stop")
            prompt_ids = tokens.encode(prompt, add_special_tokens=False)
            outputs.append(SimpleNamespace(prompt_token_ids=prompt_ids, outputs=[reply]))
        return outputs

    return generate


def test_oat_gets_finished_episodes_from_its_own_step(example: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from oat.algorithms.ppo_multiturn import PPOMultiTurnActor

    tokens = tokenizer()
    handed: list[Any] = []
    monkeypatch.setattr(PPOMultiTurnActor, "init", lambda *_: None)  # it loads the model
    actor = example.Actor("", {}, SimpleNamespace(rollout_batch_size_per_device=40))
    actor.tokenizer, actor.sampling_params = tokens, None
    actor.ipc_client = SimpleNamespace(serialize_ipc=handed.append)
    actor.init(0, "")
    actor.generate = expert_model(actor, tokens)

    actor.step()
    actor.step()

    for episodes in handed:
        assert sum(map(len, episodes)) >= 40
        for episode in episodes:
            assert [turn.done for turn in episode] == [False] * (len(episode) - 1) + [True]
            assert episode[-1].rewards == 1.0
            assert all(len(turn.response_ids) == len(turn.response_logprobs) for turn in episode)
            assert episode[0].prompt.count("<|im_start|>assistant") == 1
            assert episode[-1].info["actor/success"] == 1.0
            assert episode[-1].info["actor/mean_episode_success"] == 1.0


def test_an_episode_that_is_unfinished_goes_on_in_the_next_call(example: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from oat.algorithms.ppo_multiturn import PPOMultiTurnActor

    monkeypatch.setattr(PPOMultiTurnActor, "init", lambda *_: None)
    actor = example.Actor("", {}, SimpleNamespace(rollout_batch_size_per_device=1))
    actor.tokenizer, actor.sampling_params = tokenizer(), None
    actor.init(0, "")
    actor.generate = expert_model(actor, actor.tokenizer)
    first, _ = actor.collect_experience()
    waiting = [list(turns) for turns in actor.open if turns]
    assert waiting
    later = [episode for _ in range(4) for episode in actor.collect_experience()[0]]
    assert all(any(episode[: len(turns)] == turns for episode in later) for turns in waiting)
    assert first


def test_the_learner_takes_no_prompts(example: Any) -> None:
    args = SimpleNamespace(rollout_batch_size_per_device=4, rollout_batch_size=8)
    strategy = SimpleNamespace(args=args, setup_dataloader=lambda rows, size, **_: (len(rows), size))
    learner = object.__new__(example.Learner)
    learner.prepare_data(strategy, None)
    assert learner.prompts_dataloader == (example.UPDATES * 8, 4)
