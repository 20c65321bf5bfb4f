"""Episodes for Tinker: an environment and its groups for the training loop of the cookbook.

Checked: interface checked against tinker-cookbook 0.6.1.

In the cookbook, a data set provides groups, a group provides environments, and an environment exchanges tokens with the
policy. Here, a group is one seed that is played `group_size` times, and rewards are centred within the group. Each
observation contains the earlier ones, so an episode is one sequence, and is trained as one.

    TINKER_API_KEY=... python -m examples.tinker_env

The GPUs of Tinker compute; this process only plays, and needs no GPU. For another environment, set GEM_ENV_ID.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import chz
import tinker
from tinker_cookbook.rl import train
from tinker_cookbook.rl.types import ActionExtra, Env, EnvGroupBuilder, RLDataset, RLDatasetBuilder, StepResult
from tinker_cookbook.tokenizer_utils import get_tokenizer

import gem
from gem.adapters.tokens import TokenEpisode

ENV_ID = os.environ.get("GEM_ENV_ID", "game:GuessTheNumber-v0-easy")
MODEL = "Qwen/Qwen3-8B"
MAX_TOKENS = 4096


class GemEnv(Env):
    """One episode of one of our environments; Tinker uses each object once."""

    def __init__(self, tokenizer: Any, seed: int) -> None:
        self.episode = TokenEpisode(gem.make(ENV_ID), tokenizer, MAX_TOKENS)
        self.seed = seed
        self.stop = [tokenizer.eos_token_id]

    async def initial_observation(self) -> tuple[tinker.ModelInput, list[int]]:
        """The prompt, and the tokens that end a reply."""
        return tinker.ModelInput.from_ints(self.episode.reset(seed=self.seed)), self.stop

    async def step(self, action: list[int], *, extra: ActionExtra | None = None) -> StepResult:
        """Take a turn with the sampled tokens."""
        reward = self.episode.step(action)
        done = self.episode.done
        metrics = {"success": float(self.episode.info.get("success", False))} if done else {}
        return StepResult(
            reward=reward,
            episode_done=done,
            next_observation=tinker.ModelInput.from_ints(self.episode.ids),
            next_stop_condition=self.stop,
            metrics=metrics,
        )


@dataclass(frozen=True)
class Group(EnvGroupBuilder):
    """A seed that is played several times."""

    model: str
    seed: int
    size: int

    async def make_envs(self) -> Sequence[Env]:
        """The environments of the group."""
        tokenizer = get_tokenizer(self.model)
        return [GemEnv(tokenizer, self.seed) for _ in range(self.size)]

    def logging_tags(self) -> list[str]:
        """The name under which the logs show its metrics."""
        return [ENV_ID]


@dataclass(frozen=True)
class Seeds(RLDataset):
    """Seeds from `first` on, `batch_size` groups at a time."""

    model: str
    first: int
    batches: int
    batch_size: int
    group_size: int

    def get_batch(self, index: int) -> Sequence[EnvGroupBuilder]:
        """The groups of one update."""
        start = self.first + index * self.batch_size
        return [Group(self.model, seed, self.group_size) for seed in range(start, start + self.batch_size)]

    def __len__(self) -> int:
        return self.batches


@chz.chz
class SeedsBuilder(RLDatasetBuilder):
    """The builder for the configuration of the cookbook."""

    model: str = MODEL
    batches: int = 100
    batch_size: int = 32
    group_size: int = 8

    async def __call__(self) -> tuple[RLDataset, RLDataset | None]:
        """The data sets for training and evaluation."""
        sizes = self.batch_size, self.group_size
        return Seeds(self.model, 0, self.batches, *sizes), Seeds(self.model, 10**6, 1, self.batch_size, 1)


def main() -> None:
    config = train.Config(
        model_name=MODEL,
        recipe_name="gem",
        dataset_builder=SeedsBuilder(),
        learning_rate=4e-5,
        max_tokens=512,  # for each reply
        log_path="tinker-gem",
    )
    asyncio.run(train.main(config))


if __name__ == "__main__":
    main()
