"""Plays the episodes of an update: a fixed number of complete ones, in groups of one seed where the algorithm asks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from gem.agents.agent import Decision, Request
from gem.draw import Mixer
from gem.replay import EpisodeRecord
from gem.rollout import Slot, rollout
from gem.training.player import Player, TokenSequence
from gem.training.policy import Policy
from gem.training.sampler import Sampler
from gem.training.spec import Stage, TrainingSpec

FIRST_SEED = 2**40
"""Training draws its seeds from here up: evaluations and benchmarks use small ones, which it never meets."""
LAST_SEED = 2**53
EPISODE_KEY, RESPONSE_KEY, EXAM_KEY = 1, 2, 3
"""What a stream of chance is for."""
EXAM = -1
"""Stands for the update where the policy is only looked at."""


@dataclass(slots=True)
class PlayedEpisode:
    """An episode and its tokens."""

    record: EpisodeRecord
    sequences: list[TokenSequence]
    group: int

    @property
    def rewards(self) -> list[float]:
        """Of each turn."""
        return [turn.reward for turn in self.record.turns]

    @property
    def values(self) -> list[float]:
        """What the critic said before each turn."""
        return [written.value for sequence in self.sequences for written in sequence.written]


@dataclass(slots=True)
class Batch:
    """What one update learns from."""

    episodes: list[PlayedEpisode]
    """By their place; those whose environment broke are not among them."""
    failures: list[EpisodeRecord]
    generation_seconds: float
    environment_seconds: float


class Collector:
    """Plays batches with a policy."""

    def __init__(self, spec: TrainingSpec, policy: Policy, sampler: Sampler, share: range) -> None:
        self.spec = spec
        self.share = share
        """The places of the episodes that this process plays."""
        self._update = 0
        self._player = Player(
            policy.prompts,
            sampler,
            input_mode=spec.input_mode,
            max_tokens=spec.max_tokens,
            max_length=spec.max_length,
            temperature=spec.temperature,
            draws=self._draws,
            capacity=len(share),
        )
        self._generation = 0.0

    def collect(self, update: int, stage: Stage) -> Batch:
        """The batch of an update; it follows from the training's seed, the update and the policy."""
        self._update = update
        self._generation = 0.0
        self._player.forget()
        group = self.spec.group
        slots = [
            Slot(i, stage.env_id, self._seed(i // group), stage.env_kwargs, self.spec.wrappers) for i in self.share
        ]
        began = time.perf_counter()
        records = sorted(rollout(_Timed(self), slots, num_envs=len(slots)), key=lambda record: record.index)
        spent = time.perf_counter() - began
        memories = self._player.memories
        episodes = [
            PlayedEpisode(record, memories[record.index].sequences, record.index // group)
            for record in records
            if not record.failure
        ]
        failures = [record for record in records if record.failure]
        return Batch(episodes, failures, self._generation, spent - self._generation)

    def exam(self, stage: Stage, episodes: int) -> list[PlayedEpisode]:
        """Episodes of the seeds 0, 1, ..., the same ones with the same chances for every policy."""
        self._update = EXAM
        self._player.forget()
        count = min(episodes, len(self.share))
        slots = [Slot(i, stage.env_id, i, stage.env_kwargs, self.spec.wrappers) for i in range(count)]
        records = sorted(rollout(_Timed(self), slots, num_envs=max(count, 1)), key=lambda record: record.index)
        return [PlayedEpisode(record, [], record.index) for record in records]

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """The player's decisions, with the time they took."""
        began = time.perf_counter()
        decisions = self._player.act(requests)
        self._generation += time.perf_counter() - began
        return decisions

    def _seed(self, group: int) -> int:
        draw = Mixer(self.spec.seed, EPISODE_KEY, self._update, group).random()
        return FIRST_SEED + int(draw * (LAST_SEED - FIRST_SEED))

    def _draws(self, request: Request) -> Mixer:
        if self._update == EXAM:
            return Mixer(self.spec.seed, EXAM_KEY, request.episode, request.turn)
        return Mixer(self.spec.seed, RESPONSE_KEY, self._update, request.episode, request.turn)


class _Timed:
    """The collector as an agent."""

    name = "policy"

    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        return self._collector.act(requests)
