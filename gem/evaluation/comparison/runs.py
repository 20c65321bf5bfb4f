"""Runs, which are compared: their scored episodes and how they were played."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from gem.evaluation.faults import NO_FAULTS, Faults
from gem.evaluation.intervals import Estimate, SeedSums, estimate_return, estimate_success
from gem.evaluation.scores import over_environments

Measure = Literal["success", "return"]
"""The measure that is compared: whether episodes are solved, or their returns."""


class ScoredEpisode(NamedTuple):
    """The result of one episode."""

    env_id: str
    seed: int
    seat: int
    """The seat of the agent; 0 where there is one."""
    repeat: int
    """The number of the try, from 0."""
    total_reward: float
    success: bool
    turns: int = 0
    tokens: int = 0
    """Input and output tokens."""
    failed: bool = False
    """Whether the environment failed; the episode does not count."""
    unanswered: bool = False
    """Whether the agent gave no answer; the episode does not count."""
    name: str = ""
    """The id of the episode, or its place in a file."""

    @property
    def counts(self) -> bool:
        """Whether the episode counts."""
        return not (self.failed or self.unanswered)

    def value(self, measure: Measure) -> float:
        """The result in the measure that is compared."""
        return float(self.success) if measure == "success" else self.total_reward


@dataclass(frozen=True, slots=True)
class Run:
    """The episodes of one agent, and how they were played."""

    name: str
    episodes: Sequence[ScoredEpisode]
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How it was played, as nested plain data: `{"agent_set_up": {"temperature": 0.6}, "max_turns": 20}`."""
    environments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The settings of each environment: `env_version`, `env_kwargs`, `wrappers`, `data_hash` and `max_turns`."""
    remarks: Sequence[str] = ()
    """Sentences about how far it was played, which readers have to know: each becomes a caution."""
    unknown: frozenset[str] = frozenset()
    """The names of settings that its source does not tell, such as `wrappers`; nobody compares them."""
    faults: Faults = NO_FAULTS
    """The agent's unreadable and forbidden actions; without any actions, nobody counted."""

    @property
    def seeds(self) -> dict[str, set[int]]:
        """The seeds that were played, by environment."""
        seeds_by_env: dict[str, set[int]] = {}
        for episode in self.episodes:
            seeds_by_env.setdefault(episode.env_id, set()).add(episode.seed)
        return seeds_by_env


@dataclass(frozen=True, slots=True)
class Score:
    """The results of one run by itself, over all episodes that count."""

    name: str
    episodes: int
    """The number of episodes that count."""
    failed: int
    unanswered: int
    success: Estimate | None
    """The share of solved episodes; None if no episode counts."""
    mean_return: Estimate | None
    mean_turns: float | None
    tokens: int
    """The tokens of all episodes, including those that do not count."""
    unreadable: float | None
    """The share of the agent's actions that the environment could not understand; None if nobody counted."""
    forbidden: float | None
    """The share of the agent's actions that the rules do not allow."""


def score(run: Run) -> Score:
    """Compute the results of a run by itself. Environments have the same weight, as everywhere."""
    counted = [episode for episode in run.episodes if episode.counts]
    by_env: dict[str, list[ScoredEpisode]] = {}
    for episode in counted:
        by_env.setdefault(episode.env_id, []).append(episode)
    seeds = [list(seed_sums(episodes)) for episodes in by_env.values()]
    return Score(
        run.name,
        len(counted),
        failed=sum(episode.failed for episode in run.episodes),
        unanswered=sum(episode.unanswered for episode in run.episodes),
        success=over_environments(seeds, estimate_success) if seeds else None,
        mean_return=over_environments(seeds, estimate_return) if seeds else None,
        mean_turns=sum(episode.turns for episode in counted) / len(counted) if counted else None,
        tokens=sum(episode.tokens for episode in run.episodes),
        unreadable=run.faults.unreadable_share,
        forbidden=run.faults.forbidden_share,
    )


def seed_sums(counted: Iterable[ScoredEpisode]) -> Iterator[SeedSums]:
    """Yield the sums of the episodes of each environment and seed."""
    groups: dict[tuple[str, int], list[ScoredEpisode]] = {}
    for episode in counted:
        groups.setdefault((episode.env_id, episode.seed), []).append(episode)
    for group in groups.values():
        yield SeedSums.of([episode.total_reward for episode in group], sum(episode.success for episode in group))
