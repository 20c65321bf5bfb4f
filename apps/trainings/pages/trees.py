"""Episodes of one seed as a tree: shared turns are one branch, and every leaf is an episode.

With the same seed, the same actions lead to the same turns. Episodes share a branch until their actions differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.episodes.models import Episode

SHOWN_ACTIONS = 6
"""A branch with more actions is shortened in the middle."""


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """A stored episode and its actions."""

    episode: Episode
    update: int
    actions: tuple[str, ...]

    @property
    def reached(self) -> float:
        """Its return."""
        return float(self.episode.seats.all()[0].total_reward)


@dataclass(frozen=True, slots=True)
class SeedGroup:
    """The episodes of an update with the same seed."""

    seed: int
    rows: Sequence[EpisodeRow]

    @property
    def lowest(self) -> float:
        """The lowest return."""
        return min(row.reached for row in self.rows)

    @property
    def highest(self) -> float:
        """The highest return."""
        return max(row.reached for row in self.rows)

    @property
    def spread(self) -> float:
        """The difference between the highest and the lowest return."""
        return self.highest - self.lowest

    @property
    def branches(self) -> list[Branch]:
        """Their actions as a tree."""
        return tree(self.rows)


@dataclass(frozen=True, slots=True)
class Branch:
    """Consecutive actions that some episodes share, and the branches that follow."""

    actions: Sequence[str]
    rows: Sequence[EpisodeRow]
    """The episodes that took these actions."""
    ends: Sequence[EpisodeRow]
    """The episodes that ended with the last of these actions."""
    branches: Sequence[Branch]

    @property
    def mean(self) -> float:
        """The mean return of its episodes."""
        return sum(row.reached for row in self.rows) / len(self.rows)

    @property
    def only(self) -> EpisodeRow | None:
        """Its episode, if there is only one."""
        return self.rows[0] if len(self.rows) == 1 else None

    @property
    def left_out(self) -> int:
        """The number of actions in the middle that are not shown."""
        return max(0, len(self.actions) - SHOWN_ACTIONS)

    @property
    def shown(self) -> Sequence[str]:
        """Its first actions, or all of them if they are few."""
        return self.actions[: SHOWN_ACTIONS // 2] if self.left_out else self.actions

    @property
    def shown_last(self) -> Sequence[str]:
        """Its last actions, if some in the middle are left out."""
        return self.actions[-(SHOWN_ACTIONS // 2) :] if self.left_out else ()


def tree(rows: Sequence[EpisodeRow], depth: int = 0) -> list[Branch]:
    """The branches of episodes that share their first `depth` actions: frequent ones first, then higher returns."""
    rows_by_action: dict[str, list[EpisodeRow]] = {}
    for row in rows:
        if len(row.actions) > depth:
            rows_by_action.setdefault(row.actions[depth], []).append(row)
    branches = [_branch(branch_rows, depth) for branch_rows in rows_by_action.values()]
    return sorted(branches, key=lambda branch: (-len(branch.rows), -branch.mean))


def _branch(rows: list[EpisodeRow], first: int) -> Branch:
    """The branch of the actions from `first` on that all `rows` share."""
    shortest_actions = min(rows, key=lambda row: len(row.actions)).actions
    depth = first + 1
    while depth < len(shortest_actions) and all(row.actions[depth] == shortest_actions[depth] for row in rows):
        depth += 1
    ends = [row for row in rows if len(row.actions) == depth]
    return Branch(shortest_actions[first:depth], rows, ends, tree(rows, depth))
