"""Measures how well a policy plays, on seeds that no training meets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gem.evaluation.scores import Outcome, Summary, summarize
from gem.records import EpisodeRecord
from gem.rollout import EpisodeRequest, rollout
from gem.training.policy.policy_agent import PolicyAgent
from gem.training.spec import TrainingSpec

FIRST_SEED = 0
"""The first seed of an evaluation; the seeds of trainings begin at `collector.FIRST_SEED`."""


def evaluate(path: str | Path, spec: TrainingSpec, *, episodes: int = 256, temperature: float | None = None) -> Summary:
    """Play episodes with the policy in a folder, in a specification's environment and with its settings.

    Args:
        path: the policy's folder (see `PolicyAgent`).
        temperature: 0 takes the most probable token each time; the default is the specification's temperature.
    """
    return summarize(
        Outcome(
            record.index,
            record.total_reward,
            bool(record.success),
            record.turn_count,
            bool(record.failure),
            problem=(record.identity.seed, record.seat),
        )
        for record in play(path, spec, episodes=episodes, temperature=temperature)
    )


def play(
    path: str | Path, spec: TrainingSpec, *, episodes: int, temperature: float | None = None
) -> Iterator[EpisodeRecord]:
    """Play the episodes of an evaluation; see `evaluate`."""
    agent = PolicyAgent(
        path,
        temperature=spec.temperature if temperature is None else temperature,
        input_mode=spec.input_mode,
        max_tokens=spec.max_tokens,
    )
    stage = spec.measured_stage
    requests = [
        EpisodeRequest(i, stage.env_id, FIRST_SEED + i, stage.env_kwargs, spec.wrappers) for i in range(episodes)
    ]
    return rollout(agent, requests, num_envs=min(episodes, 128))
