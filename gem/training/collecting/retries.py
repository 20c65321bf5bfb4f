"""Seeds that were not solved are tried again (`retry_unsolved`), because what a policy cannot do yet gets rare.

A seed counts as unsolved if less than half of the episodes of its group solved it. It is tried again until it is solved
or until `BATCHES_KEPT` batches of others have followed. What is tried again is a biased selection, so metrics are
computed from the other groups.

Source: prioritized level replay (Jiang et al., arXiv 2010.03934), with whether a seed was solved as its score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gem.rng import SplitMix64
from gem.training.collecting.batch import PlayedEpisode, RolloutBatch
from gem.training.spec import TrainingSpec

RETRY_KEY = 10
"""What a stream of random numbers is used for, besides those of `collector` and `forks`."""
BATCHES_KEPT = 2
"""For how many batches of unsolved seeds there is room."""


def choose_retries(spec: TrainingSpec, update: int, groups: Iterable[int], unsolved: Sequence[int]) -> dict[int, int]:
    """The groups of an update that try an unsolved seed again, with its seed.

    They are spread evenly over the batch and are always the same share of it, so that every process has some of both.
    """
    if not unsolved:
        return {}
    share = spec.retry_unsolved
    chosen = [group for group in groups if int((group + 1) * share) > int(group * share)]
    draws = {group: SplitMix64(spec.seed, RETRY_KEY, update, group).random() for group in chosen}
    return {group: unsolved[int(draw * len(unsolved))] for group, draw in draws.items()}


def outcomes_of(batch: RolloutBatch) -> list[float]:
    """Of each group, by its index: its seed, then 1 if at least half of its episodes solved it, or 0."""
    groups: dict[int, list[PlayedEpisode]] = {}
    for episode in batch.first:
        groups.setdefault(episode.group, []).append(episode)
    outcomes: list[float] = []
    for _, episodes in sorted(groups.items()):
        solved = sum(bool(episode.record.success) for episode in episodes)
        outcomes += [float(episodes[0].record.identity.seed), float(2 * solved >= len(episodes))]
    return outcomes


def follow_outcomes(spec: TrainingSpec, unsolved: Sequence[int], outcomes: Sequence[float]) -> list[int]:
    """The unsolved seeds after an update, the oldest first.

    Args:
        outcomes: those of all processes (`outcomes_of`).
    """
    seeds = dict.fromkeys(unsolved)
    for seed, solved in zip(map(int, outcomes[::2]), outcomes[1::2], strict=True):
        if solved:
            seeds.pop(seed, None)
        else:
            seeds.setdefault(seed)
    room = BATCHES_KEPT * spec.episodes // spec.group
    return list(seeds)[-room:]
