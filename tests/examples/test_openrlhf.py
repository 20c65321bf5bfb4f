"""OpenRLHF's own executor plays our agent; only the inference engine is a scripted policy."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.packages import framework

framework("openrlhf", "openrlhf")

from openrlhf.utils.agent import AgentExecutorBase

from tests.examples.scripted import expert_plays, replies, several_turns, tokenizer

FILE = Path(__file__).parents[2] / "examples/openrlhf_agent.py"


class Engine:
    """Answers as vLLM does: the text stops before the token that ends it, the tokens do not."""

    def __init__(self, tokens: Any, next_reply: Any) -> None:
        self.tokens, self.next_reply = tokens, next_reply
        self.read: list[str] = []

    async def generate(self, token_ids: list[int], sampling_params: Any, multi_modal_data: Any = None) -> Any:
        self.read.append(self.tokens.decode(token_ids))
        ids = self.next_reply()
        text = self.tokens.decode(ids, skip_special_tokens=True)
        logprobs = [{token: SimpleNamespace(logprob=-1.0)} for token in ids]
        output = SimpleNamespace(token_ids=ids, text=text, finish_reason="stop", logprobs=logprobs)
        return SimpleNamespace(outputs=[output])


async def test_openrlhf_plays_an_episode_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location("agent_module", FILE)  # as OpenRLHF loads it
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tokens, seed = tokenizer(), several_turns()
    monkeypatch.setattr(module, "tokenizer", lambda: tokens)
    engine = Engine(tokens, replies(seed, tokens))
    sampling = SimpleNamespace(max_tokens=64, logprobs=1)

    executor = module.AgentExecutor()
    assert isinstance(executor, AgentExecutorBase)
    result = await executor.execute(str(seed), "", sampling, 2048, tokens, engine)

    actions, rewards, messages = expert_plays(seed)
    assert result["reward"] == pytest.approx(sum(rewards))
    assert result["scores"].item() == 1.0
    said = [tokens.decode(result["observation_tokens"][start:end]) for start, end in result["action_ranges"]]
    assert said == [action + tokens.eos_token for action in actions]
    chat = [{"role": "user", "content": messages[0]}]
    for action, message, read in zip(actions, messages[1:], engine.read, strict=True):
        assert read == tokens.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        chat += [{"role": "assistant", "content": action}, {"role": "user", "content": message}]
    assert len(result["rollout_log_probs"]) == len(result["observation_tokens"])
