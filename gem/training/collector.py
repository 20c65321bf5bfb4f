"""Plays the episodes of an update: a fixed number of complete ones, in groups that share a seed if the algorithm
compares episodes of one seed."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gem.agents.agent import Decision, Request
from gem.credit import CreditUnit, Gather
from gem.records import EpisodeRecord
from gem.rng import SplitMix64
from gem.rollout import EpisodeRequest, rollout
from gem.training.policy.contexts import ContextWriter, ResponseSpan, TokenSequence
from gem.training.policy.policies import Policy
from gem.training.policy.sampler import Sampler
from gem.training.policy.tokenizing_agent import CUT_OFF_ACTION, TokenizingAgent
from gem.training.spec import Stage, TrainingSpec

FIRST_SEED = 2**40
"""The smallest seed of a training. Evaluations and benchmarks use small seeds, so no training meets them."""
LAST_SEED = 2**53
FIRST_HELD_OUT_SEED = 2**39
"""The smallest held-out seed. Neither trainings nor benchmarks use seeds from here to `FIRST_SEED`, so choosing a
checkpoint by its held-out results does not use any benchmark's seeds."""
EPISODE_KEY, RESPONSE_KEY, EXAM_KEY, HELD_OUT_KEY = 1, 2, 3, 4
"""What a stream of random numbers is used for; part of the key from which it is seeded."""


@dataclass(slots=True)
class PlayedEpisode:
    """An episode, and the tokens that the policy read and wrote in it."""

    record: EpisodeRecord
    sequences: list[TokenSequence]
    group: int
    """Index of the group of episodes that share a seed."""

    @property
    def rewards(self) -> list[float]:
        """The reward of each turn."""
        return [turn.reward for turn in self.record.turns]

    @property
    def responses(self) -> list[ResponseSpan]:
        """The responses of all turns."""
        return [response for sequence in self.sequences for response in sequence.responses]

    @property
    def lengths(self) -> list[int]:
        """The number of tokens of each response."""
        return [response.length for response in self.responses]

    @property
    def values(self) -> list[float]:
        """The critic's estimate before each turn."""
        return [response.value for response in self.responses]

    def values_of(self, unit: CreditUnit) -> list[float]:
        """The critic's estimate before each action."""
        if unit == "token":
            return [value for response in self.responses for value in response.values]
        return self.values if unit == "turn" else self.values[:1]


@dataclass(slots=True)
class RolloutBatch:
    """What one update learns from, in this process."""

    episodes: list[PlayedEpisode]
    """Complete episodes by index; those in which the environment raised are in `failures` instead."""
    failures: list[EpisodeRecord]
    generation_seconds: float = 0.0
    environment_seconds: float = 0.0
    first_round: list[PlayedEpisode] = field(default_factory=list)
    """The episodes that were played before any group was replaced; empty if none was. Metrics are computed from them,
    for those that are kept instead are neither too easy nor too hard."""
    replaced: list[PlayedEpisode] = field(default_factory=list)
    """Episodes of groups that were replaced (dynamic sampling)."""

    @property
    def measured(self) -> list[PlayedEpisode]:
        """The episodes that metrics are computed from: one for each index, without any selection by their return."""
        return self.first_round or self.episodes

    @property
    def episode_count(self) -> int:
        """Number of complete episodes that were played, with those that were replaced."""
        return len(self.episodes) + len(self.replaced)

    @property
    def turn_count(self) -> int:
        """Number of their turns, each of which has one response."""
        played = (*self.episodes, *self.replaced)
        return sum(len(sequence.responses) for episode in played for sequence in episode.sequences)

    def metrics(self, gather: Gather) -> dict[str, float]:
        """Averages over the episodes and turns of all processes, under the names that metrics have in run folders.

        Args:
            gather: collects the numbers of all processes.
        """
        records = [episode.record for episode in self.measured]
        turns = [turn for record in records for turn in record.turns]
        sequences = [sequence for episode in self.measured for sequence in episode.sequences]
        errors = [turn.info.get("error") for turn in turns]
        lengths = gather([float(response.length) for sequence in sequences for response in sequence.responses])
        truncations = [float(sequence.is_truncated) for sequence in sequences for _ in sequence.responses]
        returns = gather([record.total_reward for record in records])
        return {
            "return": mean(returns),
            "success": mean(gather([float(bool(record.success)) for record in records])),
            "invalid": mean(gather([float(error == "format") for error in errors])),
            "against_rules": mean(gather([float(error == "rule") for error in errors])),
            "cut_off": mean(gather([float(turn.action == CUT_OFF_ACTION) for turn in turns])),
            "shortened": mean(gather(truncations)),
            "replaced": len(gather([1.0] * len(self.replaced))) / max(len(returns), 1),
            "turns_per_episode": len(lengths) / max(len(returns), 1),
            "length": mean(lengths),
        }


class Collector:
    """Plays batches of episodes with a policy.

    Args:
        share: the indices of the episodes that this process plays of every batch.
    """

    def __init__(self, spec: TrainingSpec, policy: Policy, sampler: Sampler, share: range) -> None:
        self.spec = spec
        self.share = share
        self._update = 0
        self._stream: tuple[int, ...] = ()
        """The part of the random numbers' key that all responses of a batch share."""
        writer = ContextWriter(
            policy.prompt_format,
            input_mode=spec.input_mode,
            max_tokens=spec.max_tokens,
            max_length=spec.max_length,
        )
        self._agent = TokenizingAgent(
            writer,
            sampler,
            temperature=spec.temperature,
            make_rng=self._make_rng,
            capacity=len(share),
        )

    def collect(self, update: int, stage: Stage) -> RolloutBatch:
        """Play the batch of an update, which follows from the training's seed, the update and the policy's weights.

        With dynamic sampling, groups whose episodes all have the same return are then replaced by groups of other
        seeds, for some rounds. What is without signal after the last round stays, and teaches nothing.

        Source: DAPO (Yu et al., arXiv 2503.14476), section 3.2.
        """
        batch = self._play_round(update, stage, self.share, 0)
        for number in range(1, self.spec.dynamic_sampling + 1):
            groups = _without_signal(batch.episodes)
            if not groups:
                break
            indices = [i for i in self.share if i // self.spec.group in groups]
            batch = _replace(batch, groups, self._play_round(update, stage, indices, number))
        return batch

    def _play_round(self, update: int, stage: Stage, indices: Sequence[int], number: int) -> RolloutBatch:
        """Play the episodes of some indices.

        Args:
            number: of the round; each has seeds and random numbers of its own.
        """
        self._update, self._stream = update, (RESPONSE_KEY, update, number) if number else (RESPONSE_KEY, update)
        self._agent.forget()
        agent, group_size = _TimedAgent(self._agent), self.spec.group
        requests = [
            EpisodeRequest(i, stage.env_id, self._seed(i // group_size, number), stage.env_kwargs, self.spec.wrappers)
            for i in indices
        ]
        began = time.perf_counter()
        records = sorted(rollout(agent, requests, num_envs=len(requests)), key=lambda record: record.index)
        seconds = time.perf_counter() - began
        contexts = self._agent.contexts
        episodes = [
            PlayedEpisode(record, contexts[record.index, 0].sequences, record.index // group_size)
            for record in records
            if not record.failure
        ]
        failures = [record for record in records if record.failure]
        return RolloutBatch(episodes, failures, agent.seconds, seconds - agent.seconds)

    def play_exam(self, stage: Stage, episodes: int) -> list[PlayedEpisode]:
        """Play episodes on the seeds 0, 1, ... with the same random numbers for every policy."""
        return self._play_unlearned(stage, EXAM_KEY, 0, range(min(episodes, len(self.share))))

    def play_held_out(self, stage: Stage, indices: range) -> list[PlayedEpisode]:
        """Play episodes on the held-out seeds with these indices, with the same random numbers for every policy."""
        return self._play_unlearned(stage, HELD_OUT_KEY, FIRST_HELD_OUT_SEED, indices)

    def _play_unlearned(self, stage: Stage, key: int, first_seed: int, indices: range) -> list[PlayedEpisode]:
        """Play episodes that are not learned from."""
        self._stream = (key,)
        self._agent.forget()
        requests = [
            EpisodeRequest(i, stage.env_id, first_seed + i, stage.env_kwargs, self.spec.wrappers) for i in indices
        ]
        num_envs = max(1, min(len(requests), len(self.share)))
        records = sorted(rollout(self._agent, requests, num_envs=num_envs), key=lambda record: record.index)
        return [PlayedEpisode(record, [], record.index) for record in records]

    def _seed(self, group: int, number: int = 0) -> int:
        """The seed of a group in a round."""
        key = (self._update, group, number) if number else (self._update, group)
        fraction = SplitMix64(self.spec.seed, EPISODE_KEY, *key).random()
        return FIRST_SEED + int(fraction * (LAST_SEED - FIRST_SEED))

    def _make_rng(self, request: Request) -> SplitMix64:
        return SplitMix64(self.spec.seed, *self._stream, request.episode, request.turn)


def _without_signal(episodes: Sequence[PlayedEpisode]) -> set[int]:
    """The groups whose episodes all have the same return, so that GRPO's advantages are 0."""
    returns: dict[int, set[float]] = {}
    for episode in episodes:
        returns.setdefault(episode.group, set()).add(episode.record.total_reward)
    return {group for group, values in returns.items() if len(values) == 1}


def _replace(batch: RolloutBatch, groups: set[int], anew: RolloutBatch) -> RolloutBatch:
    """The batch with some groups replaced by those that were played anew."""
    played = {episode.group for episode in anew.episodes}
    given_up = [episode for episode in batch.episodes if episode.group in groups & played]
    kept = [episode for episode in batch.episodes if episode.group not in groups & played]
    return RolloutBatch(
        episodes=sorted([*kept, *anew.episodes], key=lambda episode: episode.record.index),
        failures=[*batch.failures, *anew.failures],
        generation_seconds=batch.generation_seconds + anew.generation_seconds,
        environment_seconds=batch.environment_seconds + anew.environment_seconds,
        first_round=batch.measured,
        replaced=[*batch.replaced, *given_up],
    )


class _TimedAgent:
    """An agent that adds up the seconds its decisions take."""

    def __init__(self, agent: TokenizingAgent) -> None:
        self._agent = agent
        self.name = agent.name
        self.seconds = 0.0

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        began = time.perf_counter()
        decisions = self._agent.act(requests)
        self.seconds += time.perf_counter() - began
        return decisions


def mean(numbers: Iterable[float]) -> float:
    """The arithmetic mean, independent of the order of the numbers; 0 if there are none."""
    values = list(numbers)
    return math.fsum(values) / len(values) if values else 0.0
