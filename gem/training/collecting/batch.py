"""The episodes that an update learns from, and what is measured of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gem.credit import CreditUnit, Gather
from gem.records import EpisodeRecord, TurnRecord
from gem.seats import rewards as rewards_of_seats
from gem.seats import success
from gem.training.collecting.pool import Played
from gem.training.policy.contexts import ResponseSpan, TokenSequence
from gem.training.policy.tokenizing_agent import CUT_OFF_ACTION

if TYPE_CHECKING:
    from gem.training.collecting.forks import Fork


@dataclass(slots=True)
class PlayedEpisode:
    """An episode, and the tokens that the policy read and wrote in it."""

    record: EpisodeRecord
    sequences: list[TokenSequence]
    group: int
    """Index of the group of episodes that share a seed."""

    @property
    def turns(self) -> list[TurnRecord]:
        """The turns of the policy's seat."""
        return [turn for turn in self.record.turns if turn.seat in (None, self.record.seat)]

    @property
    def rewards(self) -> list[float]:
        """The reward of each of its turns, with what it earns in turns of others until its next one."""
        seat, earned = self.record.seat, list[float]()
        for turn in self.record.turns:
            reward = rewards_of_seats(turn.reward, turn.info)[seat]
            if turn.seat in (None, seat):
                earned.append(reward)
            elif earned:
                earned[-1] += reward
        return earned

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
    """The episodes from which one update learns, in this process."""

    episodes: list[PlayedEpisode]
    """Complete episodes by index; those in which the environment raised are in `failures` instead."""
    failures: list[EpisodeRecord]
    generation_seconds: float = 0.0
    environment_seconds: float = 0.0
    first_round: list[PlayedEpisode] = field(default_factory=list)
    """The episodes that were played before any group was replaced; empty if none was. Metrics are computed from them,
    for those that are kept instead are neither too easy nor too hard."""
    retried: set[int] = field(default_factory=set)
    """The groups of the first round whose seeds were tried before and not solved, so that they are harder than others
    (`collecting.retries`)."""
    replaced: list[PlayedEpisode] = field(default_factory=list)
    """Episodes of groups that were replaced (dynamic sampling)."""
    games: list[Played] = field(default_factory=list)
    """With self-play, the result of each episode."""
    forks: list[Fork] = field(default_factory=list)
    """Turns of the episodes that were continued anew."""

    @property
    def learned(self) -> list[PlayedEpisode]:
        """The episodes to learn from, then the continuations of forked turns."""
        return [*self.episodes, *(one for fork in self.forks for one in fork.continuations)]

    @property
    def measured(self) -> list[PlayedEpisode]:
        """The episodes that metrics are computed from, without any selection: those of the first round on new seeds."""
        return [episode for episode in self.first if episode.group not in self.retried]

    @property
    def first(self) -> list[PlayedEpisode]:
        """The episodes of the first round, one for each index."""
        return self.first_round or self.episodes

    @property
    def _retries(self) -> list[PlayedEpisode]:
        """The episodes of the first round on seeds that were tried before."""
        return [episode for episode in self.first if episode.group in self.retried]

    @property
    def episode_count(self) -> int:
        """Number of complete episodes that were played, with those that were replaced and the continuations."""
        return len(self.games) or len(self.learned) + len(self.replaced)

    @property
    def distinct_episodes(self) -> list[PlayedEpisode]:
        """The episodes, each once, also where the policy had both seats."""
        return list({episode.record.index: episode for episode in reversed(self.episodes)}.values())[::-1]

    @property
    def turn_count(self) -> int:
        """Number of their turns, each of which has one response."""
        played = (*self.learned, *self.replaced)
        return sum(len(sequence.responses) for episode in played for sequence in episode.sequences)

    def metrics(self, gather: Gather, discount: float = 1.0) -> dict[str, float]:
        """Averages over the episodes and turns of all processes, under the names that metrics have in run folders.

        Args:
            gather: collects the numbers of all processes.
            discount: of what continuations return.
        """
        records = [episode.record for episode in self.measured]
        turns = [turn for episode in self.measured for turn in episode.turns]
        sequences = [sequence for episode in self.measured for sequence in episode.sequences]
        errors = [turn.info.get("error") for turn in turns]
        lengths = gather([float(response.length) for sequence in sequences for response in sequence.responses])
        truncations = [float(sequence.is_truncated) for sequence in sequences for _ in sequence.responses]
        returns = gather([record.total_reward for record in records])
        first_count = max(len(gather([1.0] * len(self.first))), 1)
        return {
            "return": mean(returns),
            "success": mean(gather([float(bool(record.success)) for record in records])),
            "invalid": mean(gather([float(error == "format") for error in errors])),
            "against_rules": mean(gather([float(error == "rule") for error in errors])),
            "cut_off": mean(gather([float(turn.action == CUT_OFF_ACTION) for turn in turns])),
            "shortened": mean(gather(truncations)),
            "retried_success": mean(gather([float(bool(episode.record.success)) for episode in self._retries])),
            "replaced": len(gather([1.0] * len(self.replaced))) / first_count,
            "continuations": len(gather([1.0] * (len(self.learned) - len(self.episodes)))) / first_count,
            "forks_differ": mean(gather([float(fork.spread(discount) > 0) for fork in self.forks])),
            "turns_per_episode": len(lengths) / max(len(returns), 1),
            "length": mean(lengths),
        }


def seen_from(record: EpisodeRecord, seat: int) -> EpisodeRecord:
    """The record of an episode for another seat, whose return and success it has."""
    last_info = record.turns[-1].info if record.turns else record.first_info
    return replace(record, seat=seat, success=success(seat, last_info))


def mean(numbers: Iterable[float]) -> float:
    """The arithmetic mean, independent of the order of the numbers; 0 if there are none."""
    values = list(numbers)
    return math.fsum(values) / len(values) if values else 0.0
