"""verl makes and runs our agent loop as its workers do; only the inference server is a scripted policy."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.packages import framework

framework("verl", "verl")

import hydra
from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, DictConfigWrap, _agent_loop_registry

import examples.verl_agent_loop
from tests.examples.scripted import expert_plays, replies, several_turns, tokenizer


class Server:
    """Answers as verl's client of its inference servers does."""

    def __init__(self, next_reply: Any) -> None:
        self.next_reply = next_reply
        self.asked: list[dict[str, Any]] = []

    async def generate(self, **asked: Any) -> Any:
        self.asked.append(asked)
        ids = self.next_reply()
        return SimpleNamespace(token_ids=ids, log_probs=[-1.0] * len(ids))


def loop(server: Server, tokens: Any, response_length: int) -> Any:
    config = OmegaConf.create(
        {
            "actor_rollout_ref": {"rollout": {"prompt_length": 512, "response_length": response_length}},
            "data": {},
        }
    )
    return hydra.utils.instantiate(
        config=_agent_loop_registry["gem"],
        trainer_config=DictConfigWrap(config=config),
        server_manager=server,
        tokenizer=tokens,
        processor=None,
        hf_model_type="qwen3",
        dataset_cls=object,
        data_config=DictConfigWrap(config.data),
    )


async def test_verl_plays_an_episode_to_its_end() -> None:
    tokens, seed = tokenizer(), several_turns()
    server = Server(replies(seed, tokens))
    made = loop(server, tokens, 1024)
    assert type(made) is examples.verl_agent_loop.GemLoop

    output = await made.run({"temperature": 1.0}, raw_prompt=[], extra_info={"index": seed})

    actions, rewards, _ = expert_plays(seed)
    assert isinstance(output, AgentLoopOutput)
    assert output.reward_score == pytest.approx(sum(rewards))
    assert output.extra_fields["turn_scores"] == rewards
    assert output.extra_fields["reward_extra_info"] == {"success": 1.0}
    assert len(output.response_ids) == len(output.response_mask) == len(output.response_logprobs)
    said = [token for token, mask in zip(output.response_ids, output.response_mask, strict=True) if mask]
    assert tokens.decode(said) == "".join(action + tokens.eos_token for action in actions)
    assert server.asked[1]["prompt_ids"][: len(output.prompt_ids)] == output.prompt_ids
    assert len({asked["request_id"] for asked in server.asked}) == 1
    assert output.as_dict()


async def test_it_stays_within_the_length_of_a_response() -> None:
    tokens, seed = tokenizer(), several_turns()
    output = await loop(Server(replies(seed, tokens)), tokens, 6).run({}, extra_info={"index": seed})
    assert len(output.response_ids) <= 6


def test_the_rows_have_what_the_loop_reads(tmp_path: Any) -> None:
    import pandas as pd

    examples.verl_agent_loop.write_rows(str(tmp_path / "rows.parquet"), seeds=3)
    rows = pd.read_parquet(tmp_path / "rows.parquet")
    assert [row["index"] for row in rows["extra_info"]] == [0, 1, 2]
    assert rows["prompt"][0][0]["role"] == "user"
