"""The results by category and by difficulty of the environments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from apps.catalog.entries import CATEGORIES
from apps.jobs.models import Job, Shard
from apps.jobs.results import Tally, clusters
from apps.jobs.results.clusters import Scores
from gem import registry
from gem.errors import GemError


@dataclass(frozen=True, slots=True)
class Group:
    """Environments that have something in common, and their results together."""

    name: str
    env_ids: tuple[str, ...]
    tally: Tally
    scores: Scores
    """Means over the environments, with equal weights."""


@dataclass(frozen=True, slots=True)
class Groups:
    """The environments of a job in groups."""

    categories: list[Group]
    difficulties: list[Group]

    @property
    def have_news(self) -> bool:
        """Whether they tell more than the results by environment and those of the whole job."""
        return any(len(groups) > 1 for groups in (self.categories, self.difficulties))


def groups(job: Job, shards: Sequence[Shard]) -> Groups:
    """The results of a job by category and by difficulty, in the order of the catalog."""
    scores = clusters.scores_of(job)
    env_ids = list(dict.fromkeys(shard.env_id for shard in shards))

    def grouped(name_of: Callable[[str], str]) -> list[Group]:
        members: dict[str, list[str]] = {}
        for env_id in env_ids:
            members.setdefault(name_of(env_id), []).append(env_id)
        return [
            Group(
                name,
                tuple(ids),
                Tally.of(shard for shard in shards if shard.env_id in ids),
                clusters.over_environments([scores.of(env_id) for env_id in ids]),
            )
            for name, ids in members.items()
        ]

    order = list(CATEGORIES.values())
    by_category = sorted(grouped(category_of), key=lambda group: (*_place(group.name, order), group.name))
    by_difficulty = sorted(grouped(difficulty_of), key=lambda group: (*_place(group.name, ORDER), group.name))
    return Groups(by_category, by_difficulty)


ORDER = ["default", "easy", "medium", "hard", "random"]
"""The difficulties that come first, in their order."""


def category_of(env_id: str) -> str:
    """The category of an environment in words, also if it is not registered any more."""
    prefix = env_id.partition(":")[0]
    return CATEGORIES.get(prefix, prefix)


def difficulty_of(env_id: str) -> str:
    """The difficulty of an environment as the catalog has it; `default` if it has none."""
    try:
        difficulty = registry.spec(env_id).difficulty
    except GemError:  # it is not registered any more
        difficulty = env_id.partition("-v")[2].partition("-")[2]
    return difficulty.replace("vs-", "against ") or "default"


def _place(name: str, order: Sequence[str]) -> tuple[int]:
    return (order.index(name) if name in order else len(order),)
