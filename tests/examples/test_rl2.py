"""RL2's own rollout plays our module. Its inference server, SGLang, needs a GPU: a scripted policy answers for it, and
modules without contents stand where RL2 imports it, its kernels and its logger."""

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.packages import framework

framework("RL2", "rl-square")

from tests.examples.hollow import hollow
from tests.examples.scripted import expert_plays, replies, several_turns, tokenizer

FILE = Path(__file__).parents[2] / "examples/rl2_env.py"
ABSENT = {"wandb", "sglang", "sglang_router", "flash_attn", "ring_flash_attn", "liger_kernel"}


@pytest.fixture
def rollout() -> Iterator[Any]:
    with hollow(ABSENT, importers={"RL2"}):
        yield importlib.import_module("RL2.workers.rollout")


async def test_rl2_plays_an_episode_as_one_sequence(rollout: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, seed = tokenizer(), several_turns()
    next_reply = replies(seed, tokens)

    async def answer(url: str, states: list[int], sampling_params: Any) -> dict[str, Any]:
        ids = next_reply()
        return {
            "text": tokens.decode(ids, skip_special_tokens=True),
            "meta_info": {
                "output_token_logprobs": [(-1.0, token, None) for token in ids],
                "completion_tokens": len(ids),
                "finish_reason": {"type": "stop"},
            },
        }

    worker = object.__new__(rollout.Rollout)  # its constructor starts servers
    worker.config = SimpleNamespace(env_path=str(FILE), max_turns=10)
    worker.tokenizer, worker.router_url = tokens, ""
    worker.train_sampling_params = {}
    worker.prepare_environment()
    monkeypatch.setattr(rollout, "async_generate", answer)
    monkeypatch.setattr(worker.env, "tokenizer", lambda: tokens)

    [sequence], metric = await worker.rollout({"extra_info": {"seed": seed}}, train=True)

    actions, rewards, _ = expert_plays(seed)
    assert metric["n_turns"] == [len(actions)]
    assert metric["scores"] == [1.0]
    assert sequence["rewards"].sum().item() == pytest.approx(sum(rewards))
    said = sequence["actions"][sequence["action_mask"].bool()].tolist()
    assert tokens.decode(said) == "".join(action + tokens.eos_token for action in actions)


async def test_the_environment_travels_as_plain_json(rollout: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import examples.rl2_env as module

    tokens, seed = tokenizer(), several_turns()
    monkeypatch.setattr(module, "tokenizer", lambda: tokens)
    text, extra_info = await module.reset({"seed": seed})
    actions, rewards, _ = expert_plays(seed)
    for action, reward in zip(actions, rewards, strict=True):
        answer = await module.step(text, action, json.loads(json.dumps(extra_info)))
        assert answer["reward"] == reward
        assert answer["next_state"].startswith(text + action)
        text, extra_info = answer["next_state"], answer["extra_info"]
    assert answer["done"]
