"""GRPO with TRL, where the policy calls the environment as a tool (`environment_factory`).

Checked: run on CPU in tests (trl 1.16.0).

TRL makes one `Episode` for each rollout of a batch and resets it with the row of the data set. The public methods of
the class are the tools that the policy can call; here there is one, `act`. TRL writes its signature and docstring into
the prompt, parses the calls, appends the returned text, and excludes it from the loss. It calls `get_reward` when the
policy makes no more calls. The model must be able to call tools, as Qwen3 is.

    python -m examples.trl_environment_factory --tiny               # two minutes on one CPU core, no download
    accelerate launch -m examples.trl_environment_factory --model Qwen/Qwen3-1.7B   # a GPU node; add --vllm for vLLM

For another environment, set GEM_ENV_ID, or change ENV_ID and ENV_KWARGS. For several environments, give TRL a
dictionary of factories and a column `environment`.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from datasets import Dataset
from transformers import AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

import gem
from gem.wrappers.observation_wrapper import as_message

ENV_ID = os.environ.get("GEM_ENV_ID", "game:GuessTheNumber-v0-easy")
ENV_KWARGS: dict[str, Any] = {}
TINY_KWARGS = {"max_number": 3, "max_turns": 2}
STEPS = 30
INSTRUCTIONS = "Send each of your actions with the function act until the episode is over.\n\n"


class Episode:
    """One episode of the environment, as TRL asks for it."""

    def __init__(self) -> None:
        self._env = gem.make(ENV_ID, **ENV_KWARGS)
        self._reward = 0.0
        self._info: dict[str, Any] = {}
        self._over = False

    def reset(self, seed: int, **row: Any) -> str:
        """Begin the episode of a row. The returned text is appended to its prompt."""
        observation, self._info = self._env.reset(seed=seed)
        self._reward, self._over = 0.0, False
        return as_message(observation, self._info)

    def act(self, action: str) -> str:
        """Send an action to the environment.

        Args:
            action: Your action, written as the environment asks for it.

        Returns:
            What the environment answers.
        """
        if self._over:
            return "The episode is over."
        observation, reward, terminated, truncated, self._info = self._env.step(action)
        self._reward += reward
        self._over = terminated or truncated
        return as_message(observation, self._info)

    def get_reward(self) -> float:
        """The sum of the rewards of the episode."""
        return self._reward

    @property
    def _success(self) -> bool:
        return bool(self._info.get("success", False))


def success(environments: list[Episode], **_: Any) -> list[float]:
    """Whether each problem was solved; only logged, because its weight is 0."""
    return [float(episode._success) for episode in environments]  # noqa: SLF001 (public methods are tools)


def train(model: Any, tokenizer: Any, seeds: int = 4096, **settings: Any) -> GRPOTrainer:
    """Train `model`; `settings` are passed to GRPOConfig."""
    config = GRPOConfig(
        **{
            "output_dir": "trl-environment-factory",
            "num_generations": 8,
            "max_completion_length": 1024,  # for all turns together
            "temperature": 1.0,
            "reward_weights": [0.0],  # for `success`; the reward of the environment has weight 1
            "beta": 0.0,
            "logging_steps": 1,
            "activation_checkpointing": False,
            "report_to": [],
            **settings,
        }
    )
    prompt = [{"role": "user", "content": INSTRUCTIONS}]
    data = Dataset.from_dict({"prompt": [prompt] * seeds, "seed": list(range(seeds))})
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=[success],
        args=config,
        train_dataset=data,
        processing_class=tokenizer,
        environment_factory=Episode,
    )
    trainer.train()
    return trainer


def main() -> None:
    parser = argparse.ArgumentParser(description="GRPO with TRL's environment_factory.")
    parser.add_argument("--model", default="Qwen/Qwen3-1.7B")
    parser.add_argument("--vllm", action="store_true", help="sample with vLLM on the same GPUs")
    parser.add_argument("--tiny", action="store_true", help="a tiny model on a small task, on the CPU")
    parser.add_argument("--steps", type=int, default=STEPS, help="the updates of --tiny")
    parser.add_argument("--curve", action="store_true", help="send the curve to TRACKIO_SERVER_URL with trackio")
    options = parser.parse_args()
    curve: dict[str, Any] = (
        {"report_to": ["trackio"], "project": "examples", "run_name": "trl_environment_factory"}
        if options.curve
        else {}
    )
    if options.tiny:
        train_tiny(options.steps, **curve)
        return
    tokenizer = AutoTokenizer.from_pretrained(options.model, padding_side="left")
    settings = {"learning_rate": 1e-6, "bf16": True, "use_vllm": options.vllm, "vllm_mode": "colocate", **curve}
    train(options.model, tokenizer, **settings)


def train_tiny(steps: int = STEPS, seed: int = 0, **settings: Any) -> GRPOTrainer:
    """Train a tiny model on one CPU core. It was trained on random play with the call format of Qwen3."""
    from trl.chat_template_utils import qwen3_instruct_2507_chat_template as template  # noqa: PLC0415 (as below)

    from examples.tiny_model import make_tiny  # noqa: PLC0415 (not needed on a GPU node)

    here = ENV_ID.rpartition("/")[2]  # an address on a site ends with the id of the environment
    if here == ENV_ID:
        ENV_KWARGS.update(TINY_KWARGS)
    model, tokenizer = make_tiny(
        lambda: gem.make(here, **ENV_KWARGS),
        chat_template=template,
        tools=[Episode().act],
        instructions=INSTRUCTIONS,
        seed=seed,
    )
    tiny = {
        "max_steps": steps,
        "per_device_train_batch_size": 64,
        "max_completion_length": 48,
        "learning_rate": 2e-3,
        "scale_rewards": "batch",
        "entropy_coef": 0.001,
        "use_cpu": True,
        "bf16": False,
        "save_strategy": "no",
        "seed": seed,
    }
    return train(model, tokenizer, **{**tiny, **settings})


if __name__ == "__main__":
    main()
