"""Who writes the responses: the policy with our slot cache, the policy in transformers, or a server.

Every response has its own stream of draws, which follows from the training's seed, the update, the episode and the
turn. So a response does not depend on which others are written beside it, and nothing about chance needs saving.
Shapes in names: B responses, T tokens, L cache length, D hidden size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from gem.rng import RandomSource
from gem.training.policy.nano import Cache, Place
from gem.training.policy.policies import AutoPolicy, NanoPolicy, Policy

WITHOUT_GRADIENT = 4
"""So many times the tokens fit into a pass of which only keys and values are kept."""


class Response(NamedTuple):
    """What was written after a prompt."""

    tokens: list[int]
    """The last one ends it, if `ended`."""
    logps: list[float]
    """The log-probability of each token when it was drawn, at the temperature it was drawn at."""
    ended: bool
    value: float = 0.0
    """What the critic said of the prompt, if there is one."""


class Sampler(Protocol):
    """Writes responses."""

    def refresh(self) -> None:
        """The policy has other weights than before."""
        ...

    def respond(
        self, prompts: Sequence[Sequence[int]], slots: Sequence[int], draws: Sequence[RandomSource], temperature: float
    ) -> list[Response]:
        """A response to each prompt.

        Args:
            prompts: whole sequences so far.
            slots: a number for each, below the sampler's capacity; a prompt that begins as the last one in its slot
                costs less.
            draws: a stream of chance for each.
            temperature: 0 takes the most probable token each time.
        """
        ...


def choose(logits_BV: Tensor, draws: Sequence[RandomSource], temperature: float) -> tuple[list[int], list[float]]:
    """One token for each row, by one draw each, and its log-probability."""
    logps_BV = torch.log_softmax(logits_BV.float() / (temperature or 1.0), -1)
    if temperature == 0:
        tokens = logps_BV.argmax(-1, keepdim=True)
    else:
        cumulative_BV = logps_BV.exp().cumsum(-1, dtype=torch.float64)
        heights = torch.tensor([draw.random() for draw in draws], dtype=torch.float64, device=logits_BV.device)
        heights = heights[:, None] * cumulative_BV[:, -1:]
        tokens = torch.searchsorted(cumulative_BV, heights, right=True).clamp_(max=logits_BV.shape[1] - 1)
    return tokens[:, 0].tolist(), logps_BV.gather(1, tokens)[:, 0].tolist()


class Writing:
    """Responses as they grow, token by token."""

    def __init__(self, count: int, ends: frozenset[int], max_tokens: int) -> None:
        self.tokens: list[list[int]] = [[] for _ in range(count)]
        self.logps: list[list[float]] = [[] for _ in range(count)]
        self.live = list(range(count))
        """Those that are not finished."""
        self._ends, self._most = ends, max_tokens

    def take(self, tokens: Sequence[int], logps: Sequence[float]) -> list[int]:
        """Add one token to each live response; the places among them of those that go on."""
        going = []
        for place, (i, token, logp) in enumerate(zip(self.live, tokens, logps, strict=True)):
            self.tokens[i].append(token)
            self.logps[i].append(logp)
            if token not in self._ends and len(self.tokens[i]) < self._most:
                going.append(place)
        self.live = [self.live[place] for place in going]
        return going

    def responses(self, values: Sequence[float] | None) -> list[Response]:
        """All of them, finished."""
        said = values or [0.0] * len(self.tokens)
        return [
            Response(tokens, logps, tokens[-1] in self._ends, value)
            for tokens, logps, value in zip(self.tokens, self.logps, said, strict=True)
        ]


class SlotSampler:
    """A nano policy whose cache is kept from turn to turn: only what is new in a sequence is computed.

    Args:
        capacity: how many sequences are remembered.
        microbatch_tokens: tokens of one forward pass over prompts.
    """

    def __init__(self, policy: NanoPolicy, capacity: int, max_tokens: int, microbatch_tokens: int = 8192) -> None:
        self.policy = policy
        self.max_tokens = max_tokens
        self.microbatch_tokens = microbatch_tokens
        self._cache = Cache(policy.net.config, capacity)
        self._held: list[list[int]] = [[] for _ in range(capacity)]

    def refresh(self) -> None:
        """As `Sampler.refresh`."""
        self._held = [[] for _ in self._held]

    @torch.inference_mode()
    def respond(
        self, prompts: Sequence[Sequence[int]], slots: Sequence[int], draws: Sequence[RandomSource], temperature: float
    ) -> list[Response]:
        """As `Sampler.respond`."""
        hidden_BD = self._read(prompts, slots)
        values = self.policy.values(hidden_BD).tolist() if self.policy.value_head is not None else None
        writing = Writing(len(prompts), self.policy.prompts.ends, self.max_tokens)
        slots_B = torch.tensor(slots, device=hidden_BD.device)
        lengths_B = torch.tensor([len(prompt) for prompt in prompts], device=hidden_BD.device)
        self._cache.reserve(max(map(len, prompts)) + self.max_tokens, hidden_BD)
        while True:
            logits_BV = self.policy.logits(hidden_BD)
            tokens, logps = choose(logits_BV, [draws[i] for i in writing.live], temperature)
            going = writing.take(tokens, logps)
            if not going:
                break
            if len(going) < len(tokens):
                slots_B, lengths_B = slots_B[going], lengths_B[going]
                tokens = [tokens[place] for place in going]
            hidden_BD = self._step(torch.tensor(tokens, device=slots_B.device)[:, None], slots_B, lengths_B)[:, 0]
            lengths_B = lengths_B + 1
        for slot, prompt, written in zip(slots, prompts, writing.tokens, strict=True):
            self._held[slot] = [*prompt, *written[:-1]]
        return writing.responses(values)

    def _read(self, prompts: Sequence[Sequence[int]], slots: Sequence[int]) -> Tensor:
        """The hidden state after each prompt, (B, D); what the slots do not hold yet is computed."""
        starts = [_common(self._held[slot], prompt) for slot, prompt in zip(slots, prompts, strict=True)]
        fresh = [len(prompt) - start for prompt, start in zip(prompts, starts, strict=True)]
        weight = self.policy.net.model.embed_tokens.weight
        self._cache.reserve(max(map(len, prompts)) + self.max_tokens, weight)
        last_BD = weight.new_empty((len(prompts), weight.shape[1]))
        for part in microbatches(fresh, self.microbatch_tokens):
            longest = max(fresh[i] for i in part)
            ids = [[*prompts[i][starts[i] :], *[0] * (longest - fresh[i])] for i in part]
            device = weight.device
            hidden_BTD = self._step(
                torch.tensor(ids, device=device),
                torch.tensor([slots[i] for i in part], device=device),
                torch.tensor([starts[i] for i in part], device=device),
            )
            ends = torch.tensor([fresh[i] - 1 for i in part], device=device)
            last_BD[part] = hidden_BTD[torch.arange(len(part), device=device), ends].to(last_BD.dtype)
        return last_BD

    def _step(self, ids_BT: Tensor, slots_B: Tensor, starts_B: Tensor) -> Tensor:
        """Read new tokens into the slots from `starts_B` on; their hidden states, (B, T, D)."""
        positions_BT = starts_B[:, None] + torch.arange(ids_BT.shape[1], device=ids_BT.device)[None]
        length = int(positions_BT.max()) + 1
        self._cache.reserve(length, self.policy.net.model.embed_tokens.weight)
        mask_B1TL = torch.arange(length, device=ids_BT.device)[None, None, None] <= positions_BT[:, None, :, None]
        return self.policy.net.hidden(ids_BT, self._cache, Place(slots_B, positions_BT, mask_B1TL, length))


class GenerateSampler:
    """Any policy of transformers, with its own cache for the length of a response."""

    def __init__(self, policy: AutoPolicy, max_tokens: int, microbatch_tokens: int = 8192) -> None:
        self.policy = policy
        self.max_tokens = max_tokens
        self.microbatch_tokens = microbatch_tokens

    def refresh(self) -> None:
        """As `Sampler.refresh`."""

    @torch.inference_mode()
    def respond(
        self, prompts: Sequence[Sequence[int]], slots: Sequence[int], draws: Sequence[RandomSource], temperature: float
    ) -> list[Response]:
        """As `Sampler.respond`."""
        responses: dict[int, Response] = {}
        for part in microbatches([len(prompt) + self.max_tokens for prompt in prompts], self.microbatch_tokens):
            written = self._respond([prompts[i] for i in part], [draws[i] for i in part], temperature)
            responses |= dict(zip(part, written, strict=True))
        return [responses[i] for i in range(len(prompts))]

    def _respond(
        self, prompts: Sequence[Sequence[int]], draws: Sequence[RandomSource], temperature: float
    ) -> list[Response]:
        model = self.policy.causal.base_model
        device = next(model.parameters()).device
        longest = max(map(len, prompts))
        pads = [longest - len(prompt) for prompt in prompts]
        ids_BT = torch.tensor([[0] * pad + list(prompt) for pad, prompt in zip(pads, prompts, strict=True)]).to(device)
        mask_BL = torch.tensor([[0] * pad + [1] * (longest - pad) for pad in pads], device=device)
        values: list[float] | None = None
        writing = Writing(len(prompts), self.policy.prompts.ends, self.max_tokens)
        past: Any = None
        while True:
            places = (mask_BL.cumsum(-1) - 1).clamp_(min=0)[:, -ids_BT.shape[1] :]
            out = model(
                input_ids=ids_BT, attention_mask=mask_BL, position_ids=places, past_key_values=past, use_cache=True
            )
            hidden_BD = out.last_hidden_state[:, -1]
            if past is None and self.policy.value_head is not None:
                values = self.policy.values(hidden_BD).tolist()
            past = out.past_key_values
            tokens, logps = choose(self.policy.logits(hidden_BD), [draws[i] for i in writing.live], temperature)
            going = writing.take(tokens, logps)
            if not going:
                return writing.responses(values)
            if len(going) < len(tokens):
                past.batch_select_indices(torch.tensor(going, device=device))
                mask_BL = mask_BL[going]
                tokens = [tokens[place] for place in going]
            ids_BT = torch.tensor(tokens, device=device)[:, None]
            mask_BL = torch.cat([mask_BL, mask_BL.new_ones((len(going), 1))], -1)


class AutocastSampler:
    """Another sampler whose forward passes are in bfloat16."""

    def __init__(self, inner: Sampler, context: Callable[[], AbstractContextManager[Any]]) -> None:
        self._inner, self._context = inner, context

    def refresh(self) -> None:
        """As `Sampler.refresh`."""
        self._inner.refresh()

    def respond(
        self, prompts: Sequence[Sequence[int]], slots: Sequence[int], draws: Sequence[RandomSource], temperature: float
    ) -> list[Response]:
        """As `Sampler.respond`."""
        with self._context():
            return self._inner.respond(prompts, slots, draws, temperature)


def make_sampler(
    policy: Policy, capacity: int, max_tokens: int, microbatch_tokens: int = 8192, generation_tokens: int = 0
) -> Sampler:
    """The sampler that suits a policy in this process."""
    if isinstance(policy, NanoPolicy):
        return SlotSampler(policy, capacity, max_tokens, microbatch_tokens)
    assert isinstance(policy, AutoPolicy)
    return GenerateSampler(policy, max_tokens, generation_tokens or WITHOUT_GRADIENT * microbatch_tokens)


def microbatches(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Places in groups of similar length that hold at most `tokens` when padded; a longer one is alone."""
    part: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
        if part and (len(part) + 1) * lengths[i] > tokens:
            yield part
            part = []
        part.append(i)
    if part:
        yield part


def _common(held: Sequence[int], prompt: Sequence[int]) -> int:
    """How many first tokens both share; at most all but the last one of the prompt, which has to be computed."""
    most = min(len(held), len(prompt) - 1)
    if held[:most] == prompt[:most]:
        return most
    for i in range(most):
        if held[i] != prompt[i]:
            return i
    return most
