"""Writes responses: the policy with our cache of slots, or the policy in transformers (`server_sampler`: a server).

Every response has a random number generator of its own, whose seed follows from the training's seed, the update, the
episode and the turn. So a response does not depend on which others are written in the same batch, and checkpoints need
not save the state of any generator.

Shapes in names: B responses, T tokens, L cache length, D hidden size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from gem.rng import RandomSource
from gem.training.policy.nano import SlotCache
from gem.training.policy.policies import AutoPolicy, NanoPolicy, Policy

INFERENCE_FACTOR = 4
"""How many times more tokens fit into a forward pass that keeps keys and values only, and nothing for a gradient."""


class Response(NamedTuple):
    """The response of the policy to a prompt."""

    tokens: list[int]
    """The last token is a stop token if the response is complete."""
    logps: list[float]
    """The log-probability of each token when it was drawn, at the temperature it was drawn at."""
    is_complete: bool
    """Whether the response ended with a stop token, not at the limit of its length."""
    values: list[float] = []
    """The critic's estimate before each token; empty without a critic."""


class Sampler(Protocol):
    """Writes responses."""

    def refresh(self) -> None:
        """Discard what was computed with earlier weights of the policy."""
        ...

    def respond(
        self, prompts: Sequence[Sequence[int]], slots: Sequence[int], rngs: Sequence[RandomSource], temperature: float
    ) -> list[Response]:
        """Write a response to each prompt.

        Args:
            prompts: the whole sequences so far.
            slots: a number for each prompt, below the sampler's capacity; a prompt that begins like the last one in
                its slot takes less time.
            rngs: a random number generator for each prompt.
            temperature: 0 takes the most probable token each time.
        """
        ...


class SlotSampler:
    """A nano policy whose cache is kept from turn to turn, so that only what is new in a sequence is computed.

    Args:
        capacity: number of slots.
        max_tokens: the most tokens of a response.
        microbatch_tokens: tokens of one forward pass over prompts.
    """

    def __init__(self, policy: NanoPolicy, capacity: int, max_tokens: int, microbatch_tokens: int = 8192) -> None:
        self.policy = policy
        self.max_tokens = max_tokens
        self.microbatch_tokens = microbatch_tokens
        self._cache = SlotCache(policy.net.config, capacity)
        self._cached_tokens: list[list[int]] = [[] for _ in range(capacity)]
        """The tokens of each slot whose keys and values are in the cache."""

    def refresh(self) -> None:
        """See `Sampler.refresh`."""
        self._cached_tokens = [[] for _ in self._cached_tokens]

    @torch.inference_mode()
    def respond(
        self, prompts: Sequence[Sequence[int]], slots: Sequence[int], rngs: Sequence[RandomSource], temperature: float
    ) -> list[Response]:
        """See `Sampler.respond`."""
        hidden_BD = self._read_prompts(prompts, slots)
        builder = ResponseBuilder(len(prompts), self.policy.prompt_format.stop_tokens, self.max_tokens)
        slots_B = torch.tensor(slots, device=hidden_BD.device)
        lengths_B = torch.tensor([len(prompt) for prompt in prompts], device=hidden_BD.device)
        self._cache.reserve(max(map(len, prompts)) + self.max_tokens, hidden_BD)
        while True:
            logits_BV = self.policy.logits(hidden_BD)
            tokens, logps = sample_tokens(logits_BV, [rngs[i] for i in builder.unfinished], temperature)
            rows = builder.append(tokens, logps, estimates(self.policy, hidden_BD))
            if not rows:
                break
            if len(rows) < len(tokens):
                slots_B, lengths_B = slots_B[rows], lengths_B[rows]
                tokens = [tokens[row] for row in rows]
            hidden_BD = self._forward(torch.tensor(tokens, device=slots_B.device)[:, None], slots_B, lengths_B)[:, 0]
            lengths_B = lengths_B + 1
        for slot, prompt, response_tokens in zip(slots, prompts, builder.tokens, strict=True):
            self._cached_tokens[slot] = [*prompt, *response_tokens[:-1]]
        return builder.responses()

    def _read_prompts(self, prompts: Sequence[Sequence[int]], slots: Sequence[int]) -> Tensor:
        """The hidden state after each prompt, (B, D); only the tokens that the slots do not have yet are computed."""
        starts = [
            _shared_prefix_length(self._cached_tokens[slot], prompt)
            for slot, prompt in zip(slots, prompts, strict=True)
        ]
        new_counts = [len(prompt) - start for prompt, start in zip(prompts, starts, strict=True)]
        weight = self.policy.net.model.embed_tokens.weight
        device = weight.device
        self._cache.reserve(max(map(len, prompts)) + self.max_tokens, weight)
        last_BD = weight.new_empty((len(prompts), weight.shape[1]))
        for indices in microbatches(new_counts, self.microbatch_tokens):
            longest = max(new_counts[i] for i in indices)
            ids = [[*prompts[i][starts[i] :], *[0] * (longest - new_counts[i])] for i in indices]
            hidden_BTD = self._forward(
                torch.tensor(ids, device=device),
                torch.tensor([slots[i] for i in indices], device=device),
                torch.tensor([starts[i] for i in indices], device=device),
            )
            last_columns = torch.tensor([new_counts[i] - 1 for i in indices], device=device)
            rows = torch.arange(len(indices), device=device)
            last_BD[indices] = hidden_BTD[rows, last_columns].to(last_BD.dtype)
        return last_BD

    def _forward(self, ids_BT: Tensor, slots_B: Tensor, starts_B: Tensor) -> Tensor:
        """Read new tokens into the slots from `starts_B` on; their hidden states, (B, T, D)."""
        return self.policy.net.read(ids_BT, self._cache, slots_B, starts_B)


class TransformersSampler:
    """Any policy of transformers, with that library's cache for the length of a response.

    Args:
        max_tokens: the most tokens of a response.
        microbatch_tokens: tokens of prompts and responses that are written at once.
    """

    def __init__(self, policy: AutoPolicy, max_tokens: int, microbatch_tokens: int = 8192) -> None:
        self.policy = policy
        self.max_tokens = max_tokens
        self.microbatch_tokens = microbatch_tokens

    def refresh(self) -> None:
        """Do nothing, because nothing is kept between responses."""

    @torch.inference_mode()
    def respond(
        self, prompts: Sequence[Sequence[int]], slots: Sequence[int], rngs: Sequence[RandomSource], temperature: float
    ) -> list[Response]:
        """See `Sampler.respond`."""
        responses: dict[int, Response] = {}
        for indices in microbatches([len(prompt) + self.max_tokens for prompt in prompts], self.microbatch_tokens):
            batch = self._respond([prompts[i] for i in indices], [rngs[i] for i in indices], temperature)
            responses |= dict(zip(indices, batch, strict=True))
        return [responses[i] for i in range(len(prompts))]

    def _respond(
        self, prompts: Sequence[Sequence[int]], rngs: Sequence[RandomSource], temperature: float
    ) -> list[Response]:
        """Write the responses of one batch; prompts are padded on the left."""
        model = self.policy.causal_lm.base_model
        device = next(model.parameters()).device
        longest = max(map(len, prompts))
        paddings = [longest - len(prompt) for prompt in prompts]
        ids = [[0] * padding + list(prompt) for padding, prompt in zip(paddings, prompts, strict=True)]
        ids_BT = torch.tensor(ids).to(device)
        mask_BL = torch.tensor([[0] * padding + [1] * (longest - padding) for padding in paddings], device=device)
        builder = ResponseBuilder(len(prompts), self.policy.prompt_format.stop_tokens, self.max_tokens)
        cache: Any = None
        while True:
            positions_BT = (mask_BL.cumsum(-1) - 1).clamp_(min=0)[:, -ids_BT.shape[1] :]
            output = model(
                input_ids=ids_BT,
                attention_mask=mask_BL,
                position_ids=positions_BT,
                past_key_values=cache,
                use_cache=True,
            )
            hidden_BD = output.last_hidden_state[:, -1]
            cache = output.past_key_values
            logits_BV = self.policy.logits(hidden_BD)
            tokens, logps = sample_tokens(logits_BV, [rngs[i] for i in builder.unfinished], temperature)
            rows = builder.append(tokens, logps, estimates(self.policy, hidden_BD))
            if not rows:
                return builder.responses()
            if len(rows) < len(tokens):
                cache.batch_select_indices(torch.tensor(rows, device=device))
                mask_BL = mask_BL[rows]
                tokens = [tokens[row] for row in rows]
            ids_BT = torch.tensor(tokens, device=device)[:, None]
            mask_BL = torch.cat([mask_BL, mask_BL.new_ones((len(rows), 1))], -1)


class AutocastSampler:
    """A sampler whose forward passes run in a context, such as autocast to bfloat16.

    Args:
        sampler: the sampler that writes the responses.
        make_context: makes the context for one call.
    """

    def __init__(self, sampler: Sampler, make_context: Callable[[], AbstractContextManager[Any]]) -> None:
        self._sampler, self._make_context = sampler, make_context

    def refresh(self) -> None:
        """See `Sampler.refresh`."""
        self._sampler.refresh()

    def respond(
        self, prompts: Sequence[Sequence[int]], slots: Sequence[int], rngs: Sequence[RandomSource], temperature: float
    ) -> list[Response]:
        """See `Sampler.respond`."""
        with self._make_context():
            return self._sampler.respond(prompts, slots, rngs, temperature)


def make_sampler(
    policy: Policy, capacity: int, max_tokens: int, microbatch_tokens: int = 8192, generation_tokens: int = 0
) -> Sampler:
    """Make the sampler that suits a policy in this process (see `SlotSampler` and `TransformersSampler`).

    Args:
        generation_tokens: tokens that are written at once with transformers; 0 derives it from `microbatch_tokens`.
    """
    if isinstance(policy, NanoPolicy):
        return SlotSampler(policy, capacity, max_tokens, microbatch_tokens)
    assert isinstance(policy, AutoPolicy)
    return TransformersSampler(policy, max_tokens, generation_tokens or INFERENCE_FACTOR * microbatch_tokens)


class ResponseBuilder:
    """The responses of a batch while they grow, token by token."""

    def __init__(self, count: int, stop_tokens: frozenset[int], max_tokens: int) -> None:
        self.tokens: list[list[int]] = [[] for _ in range(count)]
        self.logps: list[list[float]] = [[] for _ in range(count)]
        self.values: list[list[float]] = [[] for _ in range(count)]
        self.unfinished = list(range(count))
        """Indices of the responses that continue."""
        self._stop_tokens, self._max_tokens = stop_tokens, max_tokens

    def append(self, tokens: Sequence[int], logps: Sequence[float], values: Sequence[float] = ()) -> list[int]:
        """Append one token to each unfinished response; the rows, among these tokens, of the responses that continue.

        Args:
            values: the critic's estimate before each token; none without a critic.
        """
        rows = []
        for row, (i, token, logp) in enumerate(zip(self.unfinished, tokens, logps, strict=True)):
            self.tokens[i].append(token)
            self.logps[i].append(logp)
            self.values[i] += values[row : row + 1]
            if token not in self._stop_tokens and len(self.tokens[i]) < self._max_tokens:
                rows.append(row)
        self.unfinished = [self.unfinished[row] for row in rows]
        return rows

    def responses(self) -> list[Response]:
        """All responses, once they are finished."""
        return [
            Response(tokens, logps, tokens[-1] in self._stop_tokens, values)
            for tokens, logps, values in zip(self.tokens, self.logps, self.values, strict=True)
        ]


def estimates(policy: Policy, hidden_BD: Tensor) -> list[float]:
    """The critic's estimate in each hidden state; none without a critic."""
    if policy.value_head is None:
        return []
    values: list[float] = policy.values(hidden_BD).tolist()
    return values


def sample_tokens(logits_BV: Tensor, rngs: Sequence[RandomSource], temperature: float) -> tuple[list[int], list[float]]:
    """Draw a token for each row, with one random number each; the tokens and their log-probabilities."""
    logps_BV = torch.log_softmax(logits_BV.float() / (temperature or 1.0), -1)
    if temperature == 0:
        tokens = logps_BV.argmax(-1, keepdim=True)
    else:
        cumulative_BV = logps_BV.exp().cumsum(-1, dtype=torch.float64)
        heights = torch.tensor([rng.random() for rng in rngs], dtype=torch.float64, device=logits_BV.device)
        heights = heights[:, None] * cumulative_BV[:, -1:]
        tokens = torch.searchsorted(cumulative_BV, heights, right=True).clamp_(max=logits_BV.shape[1] - 1)
    return tokens[:, 0].tolist(), logps_BV.gather(1, tokens)[:, 0].tolist()


def microbatches(lengths: Sequence[int], max_tokens: int) -> Iterator[list[int]]:
    """Split sequences into groups of similar length; the indices of each group.

    A group has at most `max_tokens` tokens when its sequences are padded; a longer sequence is a group by itself.
    """
    group: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
        if group and (len(group) + 1) * lengths[i] > max_tokens:
            yield group
            group = []
        group.append(i)
    if group:
        yield group


def _shared_prefix_length(cached_tokens: Sequence[int], prompt: Sequence[int]) -> int:
    """How many first tokens both have in common, at most all but the prompt's last, whose hidden state is needed."""
    limit = min(len(cached_tokens), len(prompt) - 1)
    if cached_tokens[:limit] == prompt[:limit]:
        return limit
    for i in range(limit):
        if cached_tokens[i] != prompt[i]:
            return i
    return limit
