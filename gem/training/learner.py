"""Changes the policy so that it repeats responses with a positive advantage. Nothing here depends on the algorithm.

The loss of a turn is that of proximal policy optimization (Schulman et al., arXiv 1707.06347, equation 7) for each
token of its response, summed, and divided by the constant `token_divisor`: a mean over the response would make long
ones count less (Liu et al., arXiv 2503.20783). The losses of turns are averaged over the minibatch of all processes
together.

Shapes in names: B sequences, T tokens, D hidden size, V vocabulary, N response tokens, M turns, A actions with a
value.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from gem.credit import Credit, CreditUnit, Turns, by_token, by_turn
from gem.errors import GemError
from gem.rng import SplitMix64, shuffle
from gem.training.collecting.batch import PlayedEpisode
from gem.training.optimizers import Optimizers
from gem.training.policy.contexts import TokenSequence
from gem.training.policy.policies import Policy, tf32_matmul
from gem.training.policy.sampler import microbatches
from gem.training.processes import Processes
from gem.training.spec import Schedule, TrainingSpec

SHUFFLE_KEY = 3
"""Part of the key of the random numbers that shuffle the batch."""
MAX_LOGITS = 2**28
"""How many logits are computed at once, a gigabyte of float32. Logits of more tokens are computed in pieces, and again
for the gradient: with a vocabulary of 150,000 those of 16,384 tokens would take 10 gigabytes, several times over."""


class NonFiniteGradient(GemError):
    """The gradient is infinite or not a number; the message says what to look at."""


class ValueTarget(NamedTuple):
    """The value that the critic has to predict in one place."""

    position: int
    """Index of the token after which it estimates."""
    old: float
    """Its estimate during play."""
    target: float


@dataclass(slots=True)
class TrainingExample:
    """A token sequence, and what its responses are credited with."""

    sequence: TokenSequence
    advantages: list[float]
    """The advantage of each token of all responses, in order."""
    value_targets: list[ValueTarget]
    """Where the sequence has an action, what the critic should have estimated before it; empty without a critic."""


def training_examples(
    episodes: Sequence[PlayedEpisode], credit: Credit, unit: CreditUnit, *, has_critic: bool
) -> list[TrainingExample]:
    """The sequences of a batch with the credit of their turns.

    Args:
        unit: what one action is, of which `credit` has the numbers.
    """
    lengths = [episode.lengths for episode in episodes]
    advantages = by_token(credit.advantages, lengths, unit)
    targets = by_turn(credit.targets, lengths, unit)
    return [
        TrainingExample(
            sequence,
            [advantage for response in sequence.responses for advantage in own_advantages[response.turn]],
            _value_targets(sequence, own_targets) if has_critic else [],
        )
        for episode, own_advantages, own_targets in zip(episodes, advantages, targets, strict=True)
        for sequence in episode.sequences
    ]


def _value_targets(sequence: TokenSequence, targets: Turns) -> list[ValueTarget]:
    """What the critic is to predict in a sequence.

    Args:
        targets: for each turn of the episode those of the actions that begin in it.
    """
    return [
        ValueTarget(response.start - 1 + place, response.values[place], target)
        for response in sequence.responses
        for place, target in enumerate(targets[response.turn])
    ]


@dataclass(slots=True)
class UpdateStats:
    """Statistics of an update, averaged over its tokens, turns or steps; the names are those of the metrics."""

    entropy: float = 0.0
    """Entropy of the distribution that a token was drawn from, in nats."""
    kl: float = 0.0
    """Divergence per token from the policy that played the batch (estimator k3: ratio - 1 - log ratio)."""
    kl_reference: float = 0.0
    """Divergence per token from the policy that the training began with, by the same estimator."""
    clip_fraction: float = 0.0
    """Share of tokens whose probability ratio was outside the clip range."""
    policy_loss: float = 0.0
    value_loss: float = 0.0
    gradient_norm: float = 0.0
    """Norm of the gradient before clipping."""
    learning_rate: float = 0.0
    zero_advantage_share: float = 0.0
    """Share of turns with an advantage of 0, from which nothing is learned; with GRPO, those of groups whose episodes
    all have the same return."""
    steps: float = 0.0
    """Number of optimizer steps; fewer than specified where `target_kl` ended the update."""


class Learner:
    """The optimizers and the loss.

    Args:
        reference: the policy from which `kl_coefficient` penalizes divergence; None if that is the policy itself
            without its adapters, or the coefficient is 0.
    """

    def __init__(
        self, spec: TrainingSpec, policy: Policy, processes: Processes, reference: Policy | None = None
    ) -> None:
        self.spec, self.policy, self.processes, self.reference = spec, policy, processes, reference
        self.parameters = {name: parameter for name, parameter in policy.named_parameters() if parameter.requires_grad}
        self.optimizers = Optimizers(spec, policy, self.parameters)
        self.device = next(policy.parameters()).device
        self._entropy_bonus = spec.entropy_bonus

    def learn(self, batch: Sequence[TrainingExample], update: int) -> UpdateStats:
        """Make the optimizer steps of one update.

        Raises:
            NonFiniteGradient: before a step whose gradient is infinite or not a number; the policy is then as it was
                before that step.
        """
        rate = learning_rate(self.spec, update)
        self.optimizers.set_learning_rate(rate)
        totals = _UpdateTotals()
        self._entropy_bonus = entropy_bonus(self.spec, update)
        for epoch in range(self.spec.epochs):
            order = list(range(len(batch)))
            shuffle(SplitMix64(self.spec.seed, SHUFFLE_KEY, update, epoch, self.processes.rank), order)
            for first in range(self.spec.minibatches):
                minibatch = [batch[i] for i in order[first :: self.spec.minibatches]]
                if not self._step(minibatch, totals):
                    return totals.averages(self.processes, rate)
        return totals.averages(self.processes, rate)

    def _step(self, minibatch: Sequence[TrainingExample], totals: _UpdateTotals) -> bool:
        """Make one optimizer step; return False without one if the policy has diverged farther than `target_kl`."""
        tokens_before, kl_before = totals.tokens, totals.kl
        turns, actions = self.processes.total(
            [
                float(sum(len(example.sequence.responses) for example in minibatch)),
                float(sum(len(example.value_targets) for example in minibatch)),
            ]
        )
        self.optimizers.zero_grad()
        lengths = [len(example.sequence.tokens) for example in minibatch]
        for indices in microbatches(lengths, self.spec.microbatch_tokens):
            with autocast(self.spec, self.device):
                loss = self._loss([minibatch[i] for i in indices], max(turns, 1.0), totals, actions)
            with tf32_matmul(self.device) if self.spec.precision == "bfloat16" else contextlib.nullcontext():
                loss.backward()  # type: ignore[no-untyped-call]
        if self.spec.target_kl:
            tokens, kl = self.processes.total([totals.tokens - tokens_before, totals.kl - kl_before])
            if kl > self.spec.target_kl * max(tokens, 1.0):
                return False
        self.processes.add_gradients(self.parameters.values())
        max_norm = self.spec.gradient_clip or math.inf
        norm = float(nn.utils.clip_grad_norm_(self.parameters.values(), max_norm))
        if not math.isfinite(norm):
            raise NonFiniteGradient(
                f"The gradient is {norm}, so the weights would no longer be numbers. Look at the batch, and try a "
                "lower learning rate, a shorter gradient (gradient_clip), or float32."
            )
        self.optimizers.step()
        totals.gradient_norms.append(norm)
        return True

    def _loss(
        self, microbatch: Sequence[TrainingExample], turns: float, totals: _UpdateTotals, actions: float = 0.0
    ) -> Tensor:
        """The loss of some sequences, as their share of a minibatch.

        Args:
            turns: of the minibatch, over which the policy's loss is averaged.
            actions: of the minibatch, over which the critic's loss is averaged.
        """
        batch = PackedBatch(microbatch, self.device)
        hidden_BTD = self.policy.hidden(batch.ids_BT)
        logp_N, entropy_N = self._logps(self.policy, hidden_BTD, batch)
        advantage_N = batch.advantage_N
        log_ratio_N = logp_N - batch.old_logp_N
        ratio_N = log_ratio_N.exp()
        clip_low, clip_high = self.spec.clip_range, self.spec.clip_range_high or self.spec.clip_range
        clipped_N = ratio_N.clamp(1 - clip_low, 1 + clip_high)
        policy_loss = -torch.minimum(ratio_N * advantage_N, clipped_N * advantage_N).sum()
        loss = policy_loss - self._entropy_bonus * entropy_N.sum()
        if self.spec.kl_coefficient:
            kl_N = self._reference_kl(batch, logp_N)
            loss = loss + self.spec.kl_coefficient * kl_N.sum()
            totals.kl_reference += float(kl_N.detach().sum())
        loss = loss / self.spec.token_divisor
        if self.policy.value_head is not None and len(batch.row_A):
            value_loss = self._value_loss(self.policy.values(hidden_BTD[batch.row_A, batch.column_A]), batch)
            value_loss = value_loss * (turns / actions)
            loss = loss + self.spec.value_loss_coef * value_loss
            totals.value_loss += float(value_loss.detach())
        with torch.no_grad():
            totals.tokens += len(logp_N)
            totals.turns += batch.turns
            used_M = torch.bincount(batch.turn_N[advantage_N != 0], minlength=batch.turns)
            totals.zero_advantages += int((used_M == 0).sum())
            totals.policy_loss += float(policy_loss) / self.spec.token_divisor
            totals.entropy += float(entropy_N.sum())
            totals.kl += float((ratio_N - 1 - log_ratio_N).sum())
            totals.clipped += int(((1 - ratio_N > clip_low) | (ratio_N - 1 > clip_high)).sum())
        return loss / turns

    def _logps(self, policy: Policy, hidden_BTD: Tensor, batch: PackedBatch) -> tuple[Tensor, Tensor]:
        """Log-probability of each response token at the temperature it was drawn at, and the entropy there."""
        hidden_ND = hidden_BTD[batch.row_N, batch.column_N]
        max_rows = max(1, MAX_LOGITS // policy.vocab_size)
        if len(hidden_ND) <= max_rows:
            return self._logps_of_rows(policy, hidden_ND, batch.token_N)
        pieces = zip(torch.split(hidden_ND, max_rows), torch.split(batch.token_N, max_rows), strict=True)
        results = [checkpoint(self._logps_of_rows, policy, *piece, use_reentrant=False) for piece in pieces]
        logps, entropies = zip(*results, strict=True)
        return torch.cat(logps), torch.cat(entropies)

    def _logps_of_rows(self, policy: Policy, hidden_ND: Tensor, token_N: Tensor) -> tuple[Tensor, Tensor]:
        logits_NV = policy.logits(hidden_ND).float() / self.spec.temperature
        logps_NV = functional.log_softmax(logits_NV, -1)
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.spec.entropy_bonus > 0):
            entropy_N = -(logps_NV.exp() * logps_NV).sum(-1)
        return logps_NV.gather(1, token_N[:, None])[:, 0], entropy_N

    def _reference_kl(self, batch: PackedBatch, logp_N: Tensor) -> Tensor:
        """Divergence from the reference at each token (k3, of samples of the policy), never negative.

        Source: Schulman, Approximating KL divergence (2020); as in GRPO, arXiv 2402.03300, equation 4.
        """
        with torch.no_grad(), self.policy.as_reference() as is_reference:
            reference = self.policy if is_reference else self.reference
            assert reference is not None
            reference_N, _ = self._logps(reference, reference.hidden(batch.ids_BT), batch)
        log_ratio_N = reference_N - logp_N
        return log_ratio_N.exp() - 1 - log_ratio_N

    def _value_loss(self, value_A: Tensor, batch: PackedBatch) -> Tensor:
        """Half the squared error of the critic, clipped around what it estimated while playing."""
        error_A = (value_A - batch.value_target_A) ** 2
        if self.spec.value_clip:
            change_A = (value_A - batch.old_value_A).clamp(-self.spec.value_clip, self.spec.value_clip)
            error_A = torch.maximum(error_A, (batch.old_value_A + change_A - batch.value_target_A) ** 2)
        return 0.5 * error_A.sum()


def learning_rate(spec: TrainingSpec, update: int) -> float:
    """The learning rate of an update, the first being 0."""
    warm = min(1.0, (update + 1) / spec.warmup) if spec.warmup else 1.0
    return spec.learning_rate * warm * _remaining_share(spec.schedule, update / spec.updates)


def entropy_bonus(spec: TrainingSpec, update: int) -> float:
    """The reward for a nat of entropy in an update; the first update is 0."""
    return spec.entropy_bonus * _remaining_share(spec.entropy_schedule, update / spec.updates)


def _remaining_share(schedule: Schedule, done: float) -> float:
    """The share of a scheduled setting that remains after the share `done` of a training."""
    return {"constant": 1.0, "linear": 1 - done, "cosine": 0.5 * (1 + math.cos(math.pi * done))}[schedule]


@contextlib.contextmanager
def autocast(spec: TrainingSpec, device: torch.device) -> Iterator[None]:
    """Compute forward passes within the context at the specification's precision."""
    with torch.autocast(device.type, torch.bfloat16, enabled=spec.precision == "bfloat16"):
        yield


class PackedBatch:
    """Sequences as tensors: B sequences padded on the right, with N response tokens and A places for the critic.

    The last token of a sequence is left out of `ids_BT`, because no token is predicted from it.
    """

    def __init__(self, examples: Sequence[TrainingExample], device: torch.device) -> None:
        sequences = [example.sequence for example in examples]
        longest = max(len(sequence.tokens) for sequence in sequences)
        ids = [[*sequence.tokens[:-1], *[0] * (longest - len(sequence.tokens))] for sequence in sequences]
        rows: list[int] = []
        columns: list[int] = []
        tokens: list[int] = []
        turns: list[int] = []
        self.turns = 0
        """Number of turns."""
        for row, sequence in enumerate(sequences):
            for response in sequence.responses:
                rows += [row] * response.length
                columns += range(response.start - 1, response.start - 1 + response.length)
                tokens += sequence.tokens[response.start : response.start + response.length]
                turns += [self.turns] * response.length
                self.turns += 1
        self.ids_BT = torch.tensor(ids, device=device)
        self.row_N, self.column_N = torch.tensor(rows, device=device), torch.tensor(columns, device=device)
        self.token_N, self.turn_N = torch.tensor(tokens, device=device), torch.tensor(turns, device=device)
        self.old_logp_N = _floats([logp for sequence in sequences for logp in sequence.logps], device)
        self.advantage_N = _floats([number for example in examples for number in example.advantages], device)
        places = [(row, place) for row, example in enumerate(examples) for place in example.value_targets]
        self.row_A = torch.tensor([row for row, _ in places], dtype=torch.long, device=device)
        self.column_A = torch.tensor([place.position for _, place in places], dtype=torch.long, device=device)
        self.old_value_A = _floats([place.old for _, place in places], device)
        self.value_target_A = _floats([place.target for _, place in places], device)


def _floats(numbers: Sequence[float], device: torch.device) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float32, device=device)


@dataclass(slots=True)
class _UpdateTotals:
    """Sums over the tokens and turns of an update in this process, from which the averages are made."""

    tokens: float = 0.0
    turns: float = 0.0
    entropy: float = 0.0
    kl: float = 0.0
    kl_reference: float = 0.0
    clipped: float = 0.0
    policy_loss: float = 0.0
    value_loss: float = 0.0
    zero_advantages: float = 0.0
    gradient_norms: list[float] = field(default_factory=list)
    """The norm of each step, the same in every process."""

    def averages(self, processes: Processes, rate: float) -> UpdateStats:
        """The statistics over all processes, the same in each of them.

        Args:
            rate: the learning rate of the update.
        """
        token_sums = [self.entropy, self.kl, self.kl_reference, self.clipped]
        turn_sums = [self.policy_loss, self.value_loss, self.zero_advantages]
        tokens, turns, *sums = processes.total([self.tokens, self.turns, *token_sums, *turn_sums])
        entropy, kl, kl_reference, clipped = (total / max(tokens, 1.0) for total in sums[: len(token_sums)])
        policy_loss, value_loss, zero_share = (total / max(turns, 1.0) for total in sums[len(token_sums) :])
        steps = len(self.gradient_norms)
        norm = math.fsum(self.gradient_norms) / max(steps, 1)
        return UpdateStats(
            entropy, kl, kl_reference, clipped, policy_loss, value_loss, norm, rate, zero_share, float(steps)
        )
