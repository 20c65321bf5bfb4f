"""Changes the policy so that it repeats what earned more than expected. Nothing here depends on the algorithm.

The loss of a turn is that of proximal policy optimization (Schulman et al., arXiv 1707.06347, equation 7) for each
token of its response, summed, and divided by the constant `token_divisor`: a mean over the response would make long
ones count less (Liu et al., arXiv 2503.20783). Losses of turns are averaged over the minibatch, of all processes
together.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from gem.credit import Credit
from gem.errors import GemError
from gem.rng import SplitMix64, shuffle
from gem.training.collector import PlayedEpisode
from gem.training.policy.policies import Policy, tensor_cores
from gem.training.policy.sampler import microbatches
from gem.training.policy.tokenizing_agent import TokenSequence
from gem.training.processes import Processes
from gem.training.spec import Schedule, TrainingSpec

ORDER_KEY = 3
"""What the stream of chance is for that shuffles the batch."""
LOGITS_AT_ONCE = 2**28
"""A gigabyte of float32. Of more tokens the logits are computed in pieces, and anew for the gradient: a vocabulary of
150,000 makes 10 gigabytes of 16,384 tokens, several times over."""
WEIGHT_DECAY = 0.0
BETAS = (0.9, 0.95)


class NotFinite(GemError):
    """A loss or a gradient that is no number; the message says what to look at."""


@dataclass(slots=True)
class Example:
    """A sequence and what its responses are credited with, one number for each."""

    sequence: TokenSequence
    advantages: list[float]
    targets: list[float]


@dataclass(slots=True)
class UpdateStats:
    """What an update did, averaged over its tokens, turns or steps."""

    entropy: float = 0.0
    """Of the distribution that a token was drawn from, in nats."""
    kl: float = 0.0
    """How far the policy has moved from the one that played, per token (estimator k3: ratio - 1 - log ratio)."""
    kl_reference: float = 0.0
    """The same from the policy that the training began with."""
    clip_fraction: float = 0.0
    """Share of tokens whose ratio was outside the clip range."""
    policy_loss: float = 0.0
    value_loss: float = 0.0
    gradient_norm: float = 0.0
    """Before clipping."""
    learning_rate: float = 0.0
    zero_advantage_share: float = 0.0
    """Share of turns with an advantage of 0, which teach nothing: with GRPO those of groups that earned alike."""
    steps: float = 0.0
    """Of the optimizer; fewer than asked for where `target_kl` ended the update."""


def learning_rate(spec: TrainingSpec, update: int) -> float:
    """The learning rate of an update, the first being 0."""
    warm = min(1.0, (update + 1) / spec.warmup) if spec.warmup else 1.0
    return spec.learning_rate * warm * _left(spec.schedule, update / spec.updates)


def entropy_bonus(spec: TrainingSpec, update: int) -> float:
    """What a nat of entropy is worth in an update, the first being 0."""
    return spec.entropy_bonus * _left(spec.entropy_schedule, update / spec.updates)


def _left(schedule: Schedule, done: float) -> float:
    """The share of a setting that is left after the share `done` of a training."""
    return {"constant": 1.0, "linear": 1 - done, "cosine": 0.5 * (1 + math.cos(math.pi * done))}[schedule]


def examples(episodes: Sequence[PlayedEpisode], credit: Credit) -> list[Example]:
    """The sequences of a batch with the credit of their turns."""
    found = []
    for episode, advantages, targets in zip(episodes, credit.advantages, credit.targets, strict=True):
        for sequence in episode.sequences:
            turns = [written.turn for written in sequence.responses]
            found.append(Example(sequence, [advantages[t] for t in turns], [targets[t] for t in turns]))
    return found


class Learner:
    """The optimizer and the loss.

    Args:
        reference: the policy that `kl_coefficient` keeps the trained one near; None if that is the policy itself
            without its adapters, or the coefficient is 0.
    """

    def __init__(
        self, spec: TrainingSpec, policy: Policy, processes: Processes, reference: Policy | None = None
    ) -> None:
        self.spec, self.policy, self.processes, self.reference = spec, policy, processes, reference
        self.parameters = {name: one for name, one in policy.named_parameters() if one.requires_grad}
        self.optimizer = torch.optim.AdamW(
            self._groups(), lr=spec.learning_rate, betas=BETAS, weight_decay=WEIGHT_DECAY
        )
        self.device = next(policy.parameters()).device
        self._entropy_bonus = spec.entropy_bonus

    def learn(self, batch: Sequence[Example], update: int) -> UpdateStats:
        """Make the optimizer steps of one update.

        Raises:
            NotFinite: before a step whose loss or gradient is no number is taken; the policy is as it was.
        """
        rate = learning_rate(self.spec, update)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["times"]
        sums = _Sums()
        self._entropy_bonus = entropy_bonus(self.spec, update)
        for epoch in range(self.spec.epochs):
            order = list(range(len(batch)))
            shuffle(SplitMix64(self.spec.seed, ORDER_KEY, update, epoch, self.processes.rank), order)
            for first in range(self.spec.minibatches):
                if not self._step([batch[i] for i in order[first :: self.spec.minibatches]], sums):
                    return sums.averages(self.processes, rate)
        return sums.averages(self.processes, rate)

    def _groups(self) -> list[dict[str, Any]]:
        """What the optimizer changes, and how many times the learning rate it is changed with."""
        head = self.policy.value_head
        apart = {id(one) for one in head.parameters()} if head and self.spec.critic_learning_rate else set()
        groups = [{"params": [one for one in self.parameters.values() if id(one) not in apart], "times": 1.0}]
        if head and apart:
            times = self.spec.critic_learning_rate / self.spec.learning_rate
            groups.append({"params": list(head.parameters()), "times": times})
        return groups

    def _step(self, minibatch: Sequence[Example], sums: _Sums) -> bool:
        """One optimizer step; False, and no step, if the policy has moved too far for one."""
        tokens, kl = sums.tokens, sums.kl
        (turns,) = self.processes.total([float(sum(len(one.advantages) for one in minibatch))])
        self.optimizer.zero_grad(set_to_none=False)
        for part in microbatches([len(one.sequence.tokens) for one in minibatch], self.spec.microbatch_tokens):
            with autocast(self.spec, self.device):
                loss = self._loss([minibatch[i] for i in part], max(turns, 1.0), sums)
            with tensor_cores(self.device) if self.spec.precision == "bfloat16" else contextlib.nullcontext():
                loss.backward()  # type: ignore[no-untyped-call]
        if self.spec.target_kl:
            tokens, kl = self.processes.total([sums.tokens - tokens, sums.kl - kl])
            if kl > self.spec.target_kl * max(tokens, 1.0):
                return False
        self.processes.add_gradients(self.parameters.values())
        longest = self.spec.gradient_clip or math.inf
        norm = float(nn.utils.clip_grad_norm_(self.parameters.values(), longest))
        if not math.isfinite(norm):
            raise NotFinite(
                f"The gradient is {norm}: the training has left the numbers. Look at the batch, and try a lower "
                "learning rate, a shorter gradient (gradient_clip), or float32."
            )
        self.optimizer.step()
        sums.norms.append(norm)
        return True

    def _loss(self, part: Sequence[Example], turns: float, sums: _Sums) -> Tensor:
        """The loss of some sequences, as their share of a minibatch with so many turns.

        N tokens were written in M turns.
        """
        view = PackedBatch(part, self.device)
        hidden_BTD = self.policy.hidden(view.ids_BT)
        logp_N, entropy_N = self._logps(self.policy, hidden_BTD, view)
        advantage_N = view.advantage_M[view.turn_N]
        log_ratio_N = logp_N - view.old_logp_N
        ratio_N = log_ratio_N.exp()
        clip, high = self.spec.clip_range, self.spec.clip_range_high or self.spec.clip_range
        clipped_N = ratio_N.clamp(1 - clip, 1 + high)
        policy_loss = -torch.minimum(ratio_N * advantage_N, clipped_N * advantage_N).sum()
        loss = policy_loss - self._entropy_bonus * entropy_N.sum()
        if self.spec.kl_coefficient:
            away_N = self._away(view, logp_N)
            loss = loss + self.spec.kl_coefficient * away_N.sum()
            sums.kl_reference += float(away_N.detach().sum())
        loss = loss / self.spec.token_divisor
        if self.policy.value_head is not None:
            value_loss = self._value_loss(self.policy.values(hidden_BTD[view.row_M, view.prompt_M]), view)
            loss = loss + self.spec.value_loss_coef * value_loss
            sums.value_loss += float(value_loss.detach())
        with torch.no_grad():
            sums.tokens += len(logp_N)
            sums.turns += len(view.advantage_M)
            sums.zero_advantages += int((view.advantage_M == 0).sum())
            sums.policy_loss += float(policy_loss) / self.spec.token_divisor
            sums.entropy += float(entropy_N.sum())
            sums.kl += float((ratio_N - 1 - log_ratio_N).sum())
            sums.clipped += int(((1 - ratio_N > clip) | (ratio_N - 1 > high)).sum())
        return loss / turns

    def _logps(self, policy: Policy, hidden_BTD: Tensor, view: PackedBatch) -> tuple[Tensor, Tensor]:
        """Log-probability of each written token at the temperature it was drawn at, and the entropy there."""
        hidden_ND, rows = hidden_BTD[view.row_N, view.column_N], max(1, LOGITS_AT_ONCE // policy.vocabulary)
        if len(hidden_ND) <= rows:
            return self._logps_of(policy, hidden_ND, view.token_N)
        pieces = zip(torch.split(hidden_ND, rows), torch.split(view.token_N, rows), strict=True)
        found = [checkpoint(self._logps_of, policy, *piece, use_reentrant=False) for piece in pieces]
        logps, entropies = zip(*found, strict=True)
        return torch.cat(logps), torch.cat(entropies)

    def _logps_of(self, policy: Policy, hidden_ND: Tensor, token_N: Tensor) -> tuple[Tensor, Tensor]:
        logits_NV = policy.logits(hidden_ND).float() / self.spec.temperature
        logps_NV = functional.log_softmax(logits_NV, -1)
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.spec.entropy_bonus > 0):
            entropy_N = -(logps_NV.exp() * logps_NV).sum(-1)
        return logps_NV.gather(1, token_N[:, None])[:, 0], entropy_N

    def _away(self, view: PackedBatch, logp_N: Tensor) -> Tensor:
        """Divergence from the reference at each token (k3, of samples of the policy), never negative.

        Source: Schulman, Approximating KL divergence (2020); as in GRPO, arXiv 2402.03300, equation 4.
        """
        with torch.no_grad(), self.policy.untrained() as itself:
            reference = self.policy if itself else self.reference
            assert reference is not None
            reference_N, _ = self._logps(reference, reference.hidden(view.ids_BT), view)
        log_ratio_N = reference_N - logp_N
        return log_ratio_N.exp() - 1 - log_ratio_N

    def _value_loss(self, value_M: Tensor, view: PackedBatch) -> Tensor:
        """Half the squared error of the critic, clipped around what it said while playing."""
        error_M = (value_M - view.target_M) ** 2
        if self.spec.value_clip:
            moved_M = (value_M - view.old_value_M).clamp(-self.spec.value_clip, self.spec.value_clip)
            error_M = torch.maximum(error_M, (view.old_value_M + moved_M - view.target_M) ** 2)
        return 0.5 * error_M.sum()


@contextlib.contextmanager
def autocast(spec: TrainingSpec, device: torch.device) -> Iterator[None]:
    """Within, forward passes are computed with the specification's precision."""
    with torch.autocast(device.type, torch.bfloat16, enabled=spec.precision == "bfloat16"):
        yield


class PackedBatch:
    """Sequences as tensors: B of them, padded; N written tokens; M turns."""

    def __init__(self, part: Sequence[Example], device: torch.device) -> None:
        longest = max(len(one.sequence.tokens) for one in part)
        ids = [[*one.sequence.tokens[:-1], *[0] * (longest - len(one.sequence.tokens))] for one in part]
        rows: list[int] = []
        columns: list[int] = []
        tokens: list[int] = []
        turns: list[int] = []
        prompts: list[int] = []
        prompt_rows: list[int] = []
        for row, one in enumerate(part):
            for written in one.sequence.responses:
                rows += [row] * written.length
                columns += range(written.start - 1, written.start - 1 + written.length)
                tokens += one.sequence.tokens[written.start : written.start + written.length]
                turns += [len(prompts)] * written.length
                prompts.append(written.start - 1)
                prompt_rows.append(row)
        self.ids_BT = torch.tensor(ids, device=device)
        self.row_N, self.column_N = torch.tensor(rows, device=device), torch.tensor(columns, device=device)
        self.token_N, self.turn_N = torch.tensor(tokens, device=device), torch.tensor(turns, device=device)
        self.row_M, self.prompt_M = torch.tensor(prompt_rows, device=device), torch.tensor(prompts, device=device)
        self.old_logp_N = _numbers([logp for one in part for logp in one.sequence.logps], device)
        self.old_value_M = _numbers([written.value for one in part for written in one.sequence.responses], device)
        self.advantage_M = _numbers([one for example in part for one in example.advantages], device)
        self.target_M = _numbers([one for example in part for one in example.targets], device)


def _numbers(listed: Sequence[float], device: torch.device) -> Tensor:
    return torch.tensor(listed, dtype=torch.float32, device=device)


@dataclass(slots=True)
class _Sums:
    """What is averaged over an update."""

    tokens: float = 0.0
    turns: float = 0.0
    entropy: float = 0.0
    kl: float = 0.0
    kl_reference: float = 0.0
    clipped: float = 0.0
    policy_loss: float = 0.0
    value_loss: float = 0.0
    zero_advantages: float = 0.0
    norms: list[float] = field(default_factory=list)

    def averages(self, processes: Processes, rate: float) -> UpdateStats:
        """The same in every process."""
        of_tokens = [self.entropy, self.kl, self.kl_reference, self.clipped]
        of_turns = [self.policy_loss, self.value_loss, self.zero_advantages]
        tokens, turns, *sums = processes.total([self.tokens, self.turns, *of_tokens, *of_turns])
        entropy, kl, kl_reference, clipped = (one / max(tokens, 1.0) for one in sums[: len(of_tokens)])
        policy_loss, value_loss, zero_share = (one / max(turns, 1.0) for one in sums[len(of_tokens) :])
        norm = math.fsum(self.norms) / max(len(self.norms), 1)
        return UpdateStats(
            entropy, kl, kl_reference, clipped, policy_loss, value_loss, norm, rate, zero_share, float(len(self.norms))
        )
