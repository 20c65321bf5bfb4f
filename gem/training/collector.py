"""Plays the episodes of an update: a fixed number of complete ones, in groups of one seed where the algorithm asks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from gem.agents.agent import Decision, Request
from gem.records import EpisodeRecord
from gem.rng import SplitMix64
from gem.rollout import EpisodeRequest, rollout
from gem.training.policy.policies import Policy
from gem.training.policy.sampler import Sampler
from gem.training.policy.tokenizing_agent import TokenizingAgent, TokenSequence
from gem.training.spec import Stage, TrainingSpec

FIRST_SEED = 2**40
"""Training draws its seeds from here up: evaluations and benchmarks use small ones, which it never meets."""
LAST_SEED = 2**53
FIRST_HELD_OUT = 2**39
"""Neither trainings nor benchmarks use seeds from here to `FIRST_SEED`: whoever chooses by them has not seen a test."""
EPISODE_KEY, RESPONSE_KEY, EXAM_KEY, HELD_OUT_KEY = 1, 2, 3, 4
"""What a stream of chance is for."""


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
        return [written.value for sequence in self.sequences for written in sequence.responses]


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
        self._stream: tuple[int, ...] = ()
        self._player = TokenizingAgent(
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
        self._update, self._stream = update, (RESPONSE_KEY, update)
        self._generation = 0.0
        self._player.forget()
        group = self.spec.group
        slots = [
            EpisodeRequest(i, stage.env_id, self._seed(i // group), stage.env_kwargs, self.spec.wrappers)
            for i in self.share
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
        return self._look_at(stage, EXAM_KEY, 0, range(min(episodes, len(self.share))))

    def held_out(self, stage: Stage, places: range) -> list[PlayedEpisode]:
        """The same of seeds that nothing else plays, those at some places of them."""
        return self._look_at(stage, HELD_OUT_KEY, FIRST_HELD_OUT, places)

    def _look_at(self, stage: Stage, key: int, first: int, places: range) -> list[PlayedEpisode]:
        """Episodes that nothing is learned from."""
        self._stream = (key,)
        self._player.forget()
        slots = [EpisodeRequest(i, stage.env_id, first + i, stage.env_kwargs, self.spec.wrappers) for i in places]
        at_once = max(1, min(len(slots), len(self.share)))
        records = sorted(rollout(_Timed(self), slots, num_envs=at_once), key=lambda record: record.index)
        return [PlayedEpisode(record, [], record.index) for record in records]

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """The player's decisions, with the time they took."""
        began = time.perf_counter()
        decisions = self._player.act(requests)
        self._generation += time.perf_counter() - began
        return decisions

    def _seed(self, group: int) -> int:
        draw = SplitMix64(self.spec.seed, EPISODE_KEY, self._update, group).random()
        return FIRST_SEED + int(draw * (LAST_SEED - FIRST_SEED))

    def _draws(self, request: Request) -> SplitMix64:
        return SplitMix64(self.spec.seed, *self._stream, request.episode, request.turn)


class _Timed:
    """The collector as an agent."""

    name = "policy"

    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        return self._collector.act(requests)
