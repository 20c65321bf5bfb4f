"""GRPO with TRL, where our function plays the episodes (`rollout_func`).

Checked: run on CPU in tests (trl 1.16.0).

TRL samples from the policy and updates it; `play` plays the episodes. Each prompt of the data set is a seed. TRL
repeats it `num_generations` times, so a group is one secret number that is played several times, as GRPO needs it. All
episodes of a batch take their turns together. `env_mask` excludes the text of the environment from the loss.

    python -m examples.trl_rollout_func --tiny                      # two minutes on one CPU core, no download
    accelerate launch -m examples.trl_rollout_func --model Qwen/Qwen3-1.7B    # a GPU node; add --vllm for vLLM

For another environment, set GEM_ENV_ID, or change ENV_ID and ENV_KWARGS.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

from datasets import Dataset
from transformers import AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

import gem
from gem.adapters.tokens import TokenEpisode

ENV_ID = os.environ.get("GEM_ENV_ID", "game:GuessTheNumber-v0-easy")
ENV_KWARGS: dict[str, Any] = {}
TINY_KWARGS = {"max_number": 3, "max_turns": 2}
STEPS = 40


def play(prompts: list[str], trainer: GRPOTrainer) -> dict[str, list[Any] | None]:
    """Play one episode for each prompt, which is a seed. This is the `rollout_func` for TRL."""
    tokenizer, room = trainer.processing_class, 4 * trainer.max_completion_length
    episodes = [TokenEpisode(gem.make(ENV_ID, **ENV_KWARGS), tokenizer, room) for _ in prompts]
    for prompt, episode in zip(prompts, episodes, strict=True):
        episode.reset(seed=int(prompt))
    while going := [episode for episode in episodes if not episode.done]:
        replies, logprobs = sample(trainer, [episode.ids for episode in going])
        for i, episode in enumerate(going):
            episode.step(replies[i], logprobs[i] if logprobs else None)
    return {
        "prompt_ids": [episode.prompt_ids for episode in episodes],
        "completion_ids": [episode.response_ids for episode in episodes],
        "env_mask": [episode.response_mask for episode in episodes],
        # The log-probabilities of vLLM correct for its difference from the trained model.
        "logprobs": [episode.logprobs for episode in episodes] if trainer.use_vllm else None,
        "reward": [episode.reward for episode in episodes],
        "success": [float(episode.info.get("success", False)) for episode in episodes],
    }


def sample(trainer: GRPOTrainer, sequences: list[list[int]]) -> tuple[list[list[int]], list[list[float]] | None]:
    """Sample one reply to each sequence with the generation of the trainer, vLLM or transformers.

    TRL 1.16 has no public name for it; this is the method that its own loop over tool calls uses.
    """
    replies, logprobs = trainer._generate_single_turn(sequences, None, {}, num_generations=1)  # noqa: SLF001
    return replies, logprobs


def reward(reward: list[float], **_: Any) -> list[float]:
    """The reward of the environment, which `play` returned."""
    return reward


def success(success: list[float], **_: Any) -> list[float]:
    """Whether the problem was solved; only logged, because its weight is 0."""
    return success


def train(model: Any, tokenizer: Any, seeds: int = 4096, **settings: Any) -> GRPOTrainer:
    """Train `model`; `settings` are passed to GRPOConfig."""
    config = GRPOConfig(
        **{
            "output_dir": "trl-rollout-func",
            "num_generations": 8,
            "max_completion_length": 256,  # for each reply
            "temperature": 1.0,
            "reward_weights": [1.0, 0.0],
            "beta": 0.0,
            "logging_steps": 1,
            "activation_checkpointing": False,
            "report_to": [],
            **settings,
        }
    )
    data = Dataset.from_dict({"prompt": [str(seed) for seed in range(seeds)]})
    rewards: list[Callable[..., list[float]]] = [reward, success]
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=rewards,
        args=config,
        train_dataset=data,
        processing_class=tokenizer,
        rollout_func=play,
    )
    trainer.train()
    return trainer


def main() -> None:
    parser = argparse.ArgumentParser(description="GRPO with TRL's rollout_func.")
    parser.add_argument("--model", default="Qwen/Qwen3-1.7B")
    parser.add_argument("--vllm", action="store_true", help="sample with vLLM on the same GPUs")
    parser.add_argument("--tiny", action="store_true", help="a tiny model on a small task, on the CPU")
    parser.add_argument("--steps", type=int, default=STEPS, help="the updates of --tiny")
    parser.add_argument("--curve", action="store_true", help="send the curve to TRACKIO_SERVER_URL with trackio")
    options = parser.parse_args()
    names = {"project": "examples", "run_name": "trl_rollout_func"}
    curve: dict[str, Any] = {"report_to": ["trackio"], **names} if options.curve else {}
    if options.tiny:
        train_tiny(options.steps, **curve)
        return
    tokenizer = AutoTokenizer.from_pretrained(options.model, padding_side="left")
    settings = {"learning_rate": 1e-6, "bf16": True, "use_vllm": options.vllm, "vllm_mode": "colocate", **curve}
    train(options.model, tokenizer, **settings)


def train_tiny(steps: int = STEPS, seed: int = 0, **settings: Any) -> GRPOTrainer:
    """Train a tiny model, which was trained on random play, on one CPU core."""
    from examples.tiny_model import make_tiny  # noqa: PLC0415 (not needed on a GPU node)

    here = ENV_ID.rpartition("/")[2]  # an address on a site ends with the id of the environment
    if here == ENV_ID:
        ENV_KWARGS.update(TINY_KWARGS)
    model, tokenizer = make_tiny(lambda: gem.make(here, **ENV_KWARGS), seed=seed)
    tiny = {
        "max_steps": steps,
        "per_device_train_batch_size": 128,
        "max_completion_length": 8,
        "learning_rate": 2e-3,
        "scale_rewards": "batch",
        "entropy_coef": 0.01,
        "use_cpu": True,
        "bf16": False,
        "save_strategy": "no",
        "seed": seed,
    }
    return train(model, tokenizer, **{**tiny, **settings})


if __name__ == "__main__":
    main()
