"""The probabilities of a policy's whole responses: all that are likely enough, found by following tokens.

An action is a whole response, so its probability is the product of those of its tokens, and several sequences of tokens
may decode to the same text. Responses are followed token by token as a tree, without branches below a floor.

Shapes in names: B branches, T tokens, D hidden size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import torch
from torch import Tensor

from gem.agents.agent import Request
from gem.training.policy.contexts import ContextWriter
from gem.training.policy.nano import SlotCache
from gem.training.policy.policies import NanoPolicy, Policy
from gem.training.policy.tokenizing_agent import CUT_OFF_ACTION

FLOOR = {"markov": 1e-5, "transcript": 3e-4}
"""The lowest probability of a branch that is followed, by what the policy reads. A policy that was trained on random
play has hundreds of misspelled responses below it, which together are a few in a thousand; boards are fewer than
histories, so more can be followed there."""
PROMPTS = 64
"""Prompts whose responses are followed at the same time."""
Branch = tuple[int, tuple[int, ...], float]
"""The index of a prompt, the tokens written after it so far, and their log-probability."""


class PolicyChooser:
    """The probabilities of a policy's responses to requests; a `gem.analysis.exact.values.Chooser`.

    Args:
        writer: encodes what the policy reads.
        temperature: that at which responses are drawn; 0 if the most probable token is taken each time.
        floor: the lowest probability of a branch that is followed; see `FLOOR` for the default.
    """

    def __init__(self, policy: Policy, writer: ContextWriter, temperature: float, floor: float | None = None) -> None:
        self.policy, self.writer, self.temperature = policy, writer, temperature
        self.floor = FLOOR[writer.input_mode] if floor is None else floor
        self._known: dict[tuple[int, ...], dict[str, float]] = {}

    def distributions(self, requests: Iterable[Request]) -> list[dict[str, float]]:
        """The texts that the policy may respond to each request, with their probabilities."""
        prompts = [tuple(self.writer.prompt(request)) for request in requests]
        new = sorted((prompt for prompt in set(prompts) if prompt not in self._known), key=lambda one: (len(one), one))
        found = response_probabilities(self.policy, new, self.writer.max_tokens, self.temperature, self.floor)
        self._known.update(zip(new, found, strict=True))
        return [self._known[prompt] for prompt in prompts]


def response_probabilities(
    policy: Policy, prompts: Sequence[Sequence[int]], max_tokens: int, temperature: float, floor: float
) -> Iterator[dict[str, float]]:
    """Yield for each prompt the texts that a policy may respond, with their probabilities.

    The probability of a text is the sum over the sequences of tokens that decode to it. A response that does not end
    within `max_tokens` counts as `CUT_OFF_ACTION`. What is missing to 1 is in branches below `floor`.
    """
    for first in range(0, len(prompts), PROMPTS):
        yield from _follow(policy, prompts[first : first + PROMPTS], max_tokens, temperature, floor)


@torch.inference_mode()
def _follow(
    policy: Policy, prompts: Sequence[Sequence[int]], max_tokens: int, temperature: float, floor: float
) -> list[dict[str, float]]:
    reader: _Reader = _SlotReader(policy) if isinstance(policy, NanoPolicy) else _PlainReader(policy)
    hidden_BD = reader.begin(prompts)
    branches: list[Branch] = [(owner, (), 0.0) for owner in range(len(prompts))]
    found: list[dict[str, float]] = [{} for _ in prompts]
    for length in range(1, max_tokens + 1):
        rows, tokens, logps = _likely_tokens(policy, hidden_BD, branches, temperature, floor)
        ended, longer, parents = [], [], []
        for row, token, logp in zip(rows, tokens, logps, strict=True):
            owner, written, _ = branches[row]
            if token in policy.prompt_format.stop_tokens:
                ended.append((owner, written, logp))
            elif length == max_tokens:
                found[owner][CUT_OFF_ACTION] = found[owner].get(CUT_OFF_ACTION, 0.0) + math.exp(logp)
            else:
                longer.append((owner, (*written, token), logp))
                parents.append(row)
        texts = policy.prompt_format.decode([written for _, written, _ in ended])
        for text, (owner, _, logp) in zip(texts, ended, strict=True):
            found[owner][text] = found[owner].get(text, 0.0) + math.exp(logp)
        if not longer:
            break
        branches = longer
        hidden_BD = reader.append(parents, [written[-1] for _, written, _ in longer])
    return found


def _likely_tokens(
    policy: Policy,
    hidden_BD: Tensor,
    branches: Sequence[Branch],
    temperature: float,
    floor: float,
) -> tuple[list[int], list[int], list[float]]:
    """The tokens that may follow: their branches, themselves, and the log-probabilities of all that is written then."""
    logits_BV = policy.logits(hidden_BD).float()
    if temperature:
        logps_BV = torch.log_softmax(logits_BV / temperature, -1).cpu().double()
    else:
        logps_BV = torch.full_like(logits_BV, -math.inf).scatter_(1, logits_BV.argmax(-1, keepdim=True), 0.0)
        logps_BV = logps_BV.cpu().double()
    logps_BV += torch.tensor([logp for _, _, logp in branches], dtype=torch.float64)[:, None]
    rows, tokens = (logps_BV >= math.log(floor)).nonzero(as_tuple=True)
    return rows.tolist(), tokens.tolist(), logps_BV[rows, tokens].tolist()


class _Reader(Protocol):
    """Computes the hidden states after prompts and what is appended to them, (B, D)."""

    def begin(self, prompts: Sequence[Sequence[int]]) -> Tensor:
        """Read prompts; each is a branch."""
        ...

    def append(self, parents: Sequence[int], tokens: Sequence[int]) -> Tensor:
        """Read one more token in branches that continue earlier ones; these are the branches from now on."""
        ...


class _SlotReader:
    """Reads with a nano policy, whose cache has a slot for each branch."""

    def __init__(self, policy: NanoPolicy) -> None:
        self._net = policy.net
        self._cache = SlotCache(policy.net.config, 0)
        self._lengths_B = torch.empty(0)

    def begin(self, prompts: Sequence[Sequence[int]]) -> Tensor:
        """See `_Reader.begin`."""
        device = self._net.model.embed_tokens.weight.device
        longest, count = max(map(len, prompts)), len(prompts)
        self._cache = SlotCache(self._net.config, count, min_length=longest + 4)
        ids_BT = torch.tensor([[*prompt, *[0] * (longest - len(prompt))] for prompt in prompts], device=device)
        rows_B = torch.arange(count, device=device)
        hidden_BTD = self._net.read(ids_BT, self._cache, rows_B, torch.zeros_like(rows_B))
        self._lengths_B = torch.tensor([len(prompt) for prompt in prompts], device=device)
        return hidden_BTD[rows_B, self._lengths_B - 1]

    def append(self, parents: Sequence[int], tokens: Sequence[int]) -> Tensor:
        """See `_Reader.append`."""
        parents_B = torch.tensor(parents, device=self._lengths_B.device)
        self._cache.select(parents_B)
        lengths_B, self._lengths_B = self._lengths_B[parents_B], self._lengths_B[parents_B] + 1
        rows_B = torch.arange(len(tokens), device=lengths_B.device)
        ids_BT = torch.tensor(tokens, device=lengths_B.device)[:, None]
        return self._net.read(ids_BT, self._cache, rows_B, lengths_B)[:, 0]


class _PlainReader:
    """Reads with any policy, the whole sequence each time."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._sequences: list[list[int]] = []

    def begin(self, prompts: Sequence[Sequence[int]]) -> Tensor:
        """See `_Reader.begin`."""
        self._sequences = [list(prompt) for prompt in prompts]
        return self._read()

    def append(self, parents: Sequence[int], tokens: Sequence[int]) -> Tensor:
        """See `_Reader.append`."""
        self._sequences = [[*self._sequences[parent], token] for parent, token in zip(parents, tokens, strict=True)]
        return self._read()

    def _read(self) -> Tensor:
        device = next(self._policy.parameters()).device
        longest = max(map(len, self._sequences))
        ids = [[*sequence, *[0] * (longest - len(sequence))] for sequence in self._sequences]
        hidden_BTD = self._policy.hidden(torch.tensor(ids, device=device))
        ends_B = torch.tensor([len(sequence) - 1 for sequence in self._sequences], device=device)
        return hidden_BTD[torch.arange(len(ids), device=device), ends_B]
