"""A trained policy as an agent: `make_agent("policy", path="runs/guess/checkpoints/000150")`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Literal, cast

import torch

from gem.agents.agent import Decision, Request
from gem.errors import InvalidArgument
from gem.rng import SplitMix64
from gem.training.built_in_policies import policy_location
from gem.training.checkpoints.folder_check import check_folder
from gem.training.policy.contexts import ContextWriter, InputMode
from gem.training.policy.policies import load_policy
from gem.training.policy.sampler import make_sampler
from gem.training.policy.tokenizing_agent import TokenizingAgent

CAPACITY = 256
"""Number of episodes, or seats of episodes, whose tokens are kept; those of a forgotten one are encoded again from its
past turns."""
SMALL_POLICY = 4_000_000
"""Weights up to which a policy computes in one thread on a CPU. With 1.3 million, a second thread takes a third more
CPU time and makes it a third faster where nothing else runs. Where the cores are busy, the threads wait for each other,
and it is three times slower (`python -m bench.training.threads`)."""


class PolicyAgent:
    """Plays with the weights in a folder, which is checked before anything in it is loaded.

    The same environment, seed, turn and history give the same decision.

    Args:
        path: a checkpoint of a training, any folder that `AutoModelForCausalLM` loads, or the
            name of a policy that comes with the engine (`BUILT_IN_POLICIES`, such as `nano-base`).
        temperature: of the responses; 0 takes the most probable token each time. The default is the one that the
            policy was trained with.
        input_mode: `transcript` or `markov`; the default is the one that the policy was trained with.
        max_tokens: the most tokens of a response; the default is the number that the policy was trained with.
        max_length: the most tokens of a sequence, as far as the model can read so many; the default is the number that
            the policy was trained with.
        seed: of the agent's random numbers.
        device: where the policy computes, such as `cpu` or `cuda:0`.

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
        max_length: int | None = None,
    ) -> None:
        folder = Path(policy_location(str(path)))
        card = check_folder(folder)
        if temperature is not None and not 0 <= temperature <= 5:
            raise InvalidArgument(f"A temperature is from 0 to 5, not {temperature}.")
        if max_tokens is not None and max_tokens < 1:
            raise InvalidArgument(f"A response has at least 1 token, not {max_tokens}.")
        if device.startswith("cuda") and not torch.cuda.is_available():
            raise InvalidArgument("There is no CUDA device here: choose the device cpu.")
        self.name = card.recipe or folder.name
        self.policy = policy = load_policy(str(folder), device=device).eval()
        self._is_small = sum(weights.numel() for weights in policy.parameters()) <= SMALL_POLICY
        max_tokens, max_length = max_tokens or card.max_tokens, max_length or card.max_length
        self.writer = ContextWriter(
            policy.prompt_format,
            input_mode=input_mode or cast("InputMode", card.input_mode),
            max_tokens=max_tokens,
            max_length=min(max_length, policy.max_length or max_length),
        )
        self._agent = TokenizingAgent(
            self.writer,
            make_sampler(policy, CAPACITY, max_tokens),
            temperature=card.temperature if temperature is None else temperature,
            make_rng=partial(_make_rng, seed),  # no method: large caches would wait for the garbage collector
            capacity=CAPACITY,
        )

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """Decide for each request (see `Agent.act`)."""
        with torch.inference_mode(), _one_thread() if self._is_small else nullcontext():
            return [
                decision
                for first in range(0, len(requests), CAPACITY)
                for decision in self._agent.act(requests[first : first + CAPACITY])
            ]


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let torch compute in the calling thread alone during the block."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _make_rng(seed: int, request: Request) -> SplitMix64:
    env = request.env.unwrapped
    key = (seed, env.seed or 0, request.seat, request.turn)
    if env.draw_key:
        return SplitMix64(*key, request.repeat, env.draw_key)
    return SplitMix64(*key, request.repeat) if request.repeat else SplitMix64(*key)
