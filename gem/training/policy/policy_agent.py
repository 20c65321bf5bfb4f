"""A trained policy as an agent: `make_agent("policy", path="runs/guess/checkpoints/000150")`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, cast

import torch

from gem.agents.agent import Decision, Request
from gem.errors import InvalidArgument
from gem.rng import SplitMix64
from gem.training.checkpoints.folder_check import check_folder
from gem.training.policy.policies import load_policy
from gem.training.policy.prompts import folder_of
from gem.training.policy.sampler import make_sampler
from gem.training.policy.tokenizing_agent import InputMode, TokenizingAgent

CAPACITY = 256
"""Episodes whose past is kept; of one that is forgotten the past is read again."""


class PolicyAgent:
    """Plays with the weights in a folder, which is looked at before anything of it is loaded.

    The same environment, seed, turn and history give the same decision.

    Args:
        path: a checkpoint of a training, any folder that `AutoModelForCausalLM` loads, or `nano-base`.
        temperature: of the responses; 0 takes the most probable token each time. By default as the policy was trained.
        input_mode: `transcript` or `markov`; by default as the policy was trained.
        max_tokens: longest response; by default as the policy was trained.
        seed: of its chances.
        device: where it computes.

    Raises:
        InvalidArgument: if the folder is refused; the message says why.
    """

    def __init__(
        self,
        path: str | Path,
        temperature: float | None = None,
        input_mode: Literal["transcript", "markov"] | None = None,
        max_tokens: int | None = None,
        seed: int = 0,
        device: str = "cpu",
    ) -> None:
        folder = Path(folder_of(str(path)))
        card = check_folder(folder)
        if temperature is not None and not 0 <= temperature <= 5:
            raise InvalidArgument(f"A temperature is from 0 to 5, not {temperature}.")
        self.name = card.recipe or folder.name
        self._seed = seed
        self.policy = policy = load_policy(str(folder), device=device).eval()
        longest = max_tokens or card.max_tokens
        self._player = TokenizingAgent(
            policy.prompts,
            make_sampler(policy, CAPACITY, longest),
            input_mode=input_mode or cast("InputMode", card.input_mode),
            max_tokens=longest,
            max_length=min(card.max_length, policy.longest or card.max_length),
            temperature=card.temperature if temperature is None else temperature,
            draws=self._draws,
            capacity=CAPACITY,
        )

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """As `Agent.act`."""
        with torch.inference_mode():
            return [
                one
                for first in range(0, len(requests), CAPACITY)
                for one in self._player.act(requests[first : first + CAPACITY])
            ]

    def _draws(self, request: Request) -> SplitMix64:
        chances = (self._seed, request.env.unwrapped.seed or 0, request.seat, request.turn)
        return SplitMix64(*chances, request.repeat) if request.repeat else SplitMix64(*chances)
