"""Multi-turn PPO with Oat, whose actors step our vectors of environments.

Checked: interface checked against oat-llm 0.2.4.

The multi-turn actor of Oat needs finished episodes; `collect_experience` plays them on a vector, with a chat as each
observation. Every turn is a separate transition (prompt, reply, reward). Oat computes returns over turns (`gamma`),
with a critic (`--critic_type ppo`) or without. Its data set of prompts is not used, but sets the number of updates.

Oat 0.2.4 requires Python below 3.11, and this package needs 3.11, so install Oat with `pip install
--ignore-requires-python oat-llm`. On a node with 8 GPUs:

    python -m examples.oat_train --pretrain Qwen/Qwen3-1.7B-Base --gpus 8 --collocate --gamma 0.9 \
        --rollout_batch_size 128 --max_model_len 12800 --generate_max_length 4096

For another environment, set GEM_ENV_ID; with a list of ids you can mix environments.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from oat.algorithms.ppo import PPOArgs
from oat.algorithms.ppo_multiturn import PPOMultiTurnActor, PPOMultiTurnLearner
from oat.types import Transition

import gem
from gem.wrappers.wrapper_factory import get_wrapper_fns

ENV_ID = os.environ.get("GEM_ENV_ID", "game:GuessTheNumber-v0-easy")
NUM_ENVS = 16
UPDATES = 500


class Actor(PPOMultiTurnActor):
    """Plays episodes with vLLM on one GPU."""

    def init(self, actor_id: int, save_path: str) -> None:
        """Load the model, then make the environments; each actor has different seeds."""
        super().init(actor_id, save_path)
        wrappers = get_wrapper_fns("concat_chat", tokenizer=self.tokenizer)
        self.envs = gem.make_vec([ENV_ID] * NUM_ENVS, wrappers=wrappers, seed=actor_id * 10**6)
        self.prompts, _ = self.envs.reset()
        self.open: list[list[Transition]] = [[] for _ in range(NUM_ENVS)]

    def collect_experience(self) -> tuple[Sequence[Sequence[Transition]], dict[str, Any]]:
        """Play until the finished episodes have enough turns. Unfinished episodes continue in the next call, so that
        long episodes are not lost."""
        finished: list[list[Transition]] = []
        solved: list[bool] = []
        while sum(map(len, finished)) < self.args.rollout_batch_size_per_device:
            outputs = self.generate(self.prompts, self.sampling_params)
            actions = [output.outputs[0].text for output in outputs]
            observations, rewards, terminated, truncated, infos = self.envs.step(actions)
            for i, output in enumerate(outputs):
                done = bool(terminated[i] or truncated[i])
                info = infos[i]["final_info"] if done else infos[i]
                self.open[i].append(turn(self.prompts[i], output, float(rewards[i]), done, info))
                if done:
                    finished.append(self.open[i])
                    solved.append(bool(info["success"]))
                    self.open[i] = []
            self.prompts = observations
        return finished, {"actor/success": sum(solved) / len(solved)}


def turn(prompt: str, output: Any, reward: float, done: bool, info: dict[str, Any]) -> Transition:
    """A turn in the format of Oat; `output` is the output of vLLM."""
    reply = output.outputs[0]
    return Transition(
        obs=prompt,
        action=reply.text,
        rewards=reward,
        done=done,
        prompt=prompt,
        prompt_ids=list(output.prompt_token_ids),
        response=reply.text,
        response_ids=list(reply.token_ids),
        response_logprobs=[at[token].logprob for at, token in zip(reply.logprobs, reply.token_ids, strict=True)],
        response_is_truncated=reply.finish_reason == "length",
        action_is_formatted=info.get("error") != "format",
        info={},
    )


class Learner(PPOMultiTurnLearner):
    """The learner of Oat, without a data set of prompts."""

    def prepare_data(self, strategy: Any, tokenizer: Any) -> None:
        """Use empty rows, whose number determines the number of updates."""
        size = strategy.args.rollout_batch_size_per_device
        rows = [("", "", "")] * (UPDATES * strategy.args.rollout_batch_size)
        self.prompts_dataset = self.eval_prompts_dataset = rows
        self.prompts_dataloader = strategy.setup_dataloader(rows, size, shuffle=False)
        self.eval_prompts_dataloader = None  # not used, because --eval_steps is 0


def main() -> None:
    import launchpad as lp  # noqa: PLC0415 (starts processes; not needed to read or test this file)
    from oat.args import default_args_validation, get_default_args  # noqa: PLC0415
    from oat.interface import get_program  # noqa: PLC0415

    args: PPOArgs = get_default_args(PPOArgs)
    args.algo, args.eval_steps = "PPO", 0
    args.num_gpus_per_actor = args.train_batch_size_per_device = 1
    program, resources = get_program(default_args_validation(args), Learner, Actor)
    lp.launch(program, launch_type=args.launch_type, local_resources=resources, terminal="current_terminal")


if __name__ == "__main__":
    main()
