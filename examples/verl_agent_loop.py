"""Episodes for verl: an agent loop that plays an episode (`actor_rollout_ref.rollout.agent`).

Checked: interface checked against verl 0.9.1.

verl makes one `GemLoop` for each row of a batch and awaits `run`, which returns a sequence with a mask and a reward. A
row contains a seed in `extra_info.index`; `write_rows` writes the rows. A configuration file names the loop:

    python -m examples.verl_agent_loop rows.parquet
    echo '[{name: gem, _target_: examples.verl_agent_loop.GemLoop}]' > loops.yaml
    python -m verl.trainer.main_ppo data.train_files=rows.parquet data.val_files=rows.parquet \
        data.return_raw_chat=True algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen3-1.7B \
        actor_rollout_ref.rollout.agent.agent_loop_config_path=loops.yaml \
        actor_rollout_ref.rollout.agent.default_agent_loop=gem ...

Run this on a GPU node, from the root of this repository. For another environment, set GEM_ENV_ID.
"""

from __future__ import annotations

import os
import sys
from typing import Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput, register

import gem
from gem.adapters.tokens import TokenEpisode

ENV_ID = os.environ.get("GEM_ENV_ID", "game:GuessTheNumber-v0-easy")


@register("gem")
class GemLoop(AgentLoopBase):
    """Plays one episode with the inference servers of verl."""

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        """Play the episode; its seed is the index of the row."""
        episode = TokenEpisode(gem.make(ENV_ID), self.tokenizer, self.rollout_config.response_length)
        episode.reset(seed=int(row["extra_info"]["index"]))
        request_id = uuid4().hex  # the same for all turns, so they go to the server with the prefix in its cache
        while not episode.done:
            output = await self.server_manager.generate(
                request_id=request_id, prompt_ids=episode.ids, sampling_params=sampling_params
            )
            room = episode.room
            episode.step(output.token_ids[:room], output.log_probs[:room] if output.log_probs else None)
        return AgentLoopOutput(
            prompt_ids=episode.prompt_ids,
            response_ids=episode.response_ids,
            response_mask=episode.response_mask,
            response_logprobs=episode.logprobs if output.log_probs else None,
            reward_score=episode.reward,
            num_turns=2 * len(episode.rewards),
            metrics={},
            extra_fields={
                "turn_scores": episode.rewards,
                "tool_rewards": [],
                "reward_extra_info": {"success": float(episode.info.get("success", False))},
            },
        )


def write_rows(path: str, seeds: int = 4096) -> None:
    """Write the data set of seeds. verl needs a prompt too, which the loop does not read."""
    import pandas as pd  # noqa: PLC0415 (only here)

    row = {"data_source": "gem", "prompt": [{"role": "user", "content": ENV_ID}]}
    rows = [{**row, "extra_info": {"index": seed}} for seed in range(seeds)]
    pd.DataFrame(rows).to_parquet(path)


if __name__ == "__main__":
    write_rows(sys.argv[1])
