"""Episodes of one seed as a tree: turns that they share are one branch, and every end is an episode.

From one seed the same actions lead to the same turn, so as long as two episodes took the same actions they were one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.episodes.models import Episode

SHOWN_ACTIONS = 6
"""Of a branch that nobody leaves, before it is shortened in the middle."""


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """A kept episode and what was done in it."""

    episode: Episode
    update: int
    actions: tuple[str, ...]

    @property
    def reached(self) -> float:
        """Its return."""
        return float(self.episode.seats.all()[0].total_reward)


@dataclass(frozen=True, slots=True)
class SeedGroup:
    """The episodes of an update that began alike."""

    seed: int
    rows: Sequence[EpisodeRow]

    @property
    def lowest(self) -> float:
        """Return of the worst of them."""
        return min(row.reached for row in self.rows)

    @property
    def highest(self) -> float:
        """Return of the best of them."""
        return max(row.reached for row in self.rows)

    @property
    def spread(self) -> float:
        """How far the best of them is above the worst."""
        return self.highest - self.lowest

    @property
    def branches(self) -> list[Branch]:
        """What they did, as a tree."""
        return tree(self.rows)


@dataclass(frozen=True, slots=True)
class Branch:
    """Actions that some episodes have in common, and what came after them."""

    actions: Sequence[str]
    rows: Sequence[EpisodeRow]
    """The episodes that took them."""
    ends: Sequence[EpisodeRow]
    """Those that ended with the last of these actions."""
    branches: Sequence[Branch]

    @property
    def mean(self) -> float:
        """Return of its episodes."""
        return sum(row.reached for row in self.rows) / len(self.rows)

    @property
    def only(self) -> EpisodeRow | None:
        """Its episode, if one alone came this way."""
        return self.rows[0] if len(self.rows) == 1 else None

    @property
    def left_out(self) -> int:
        """How many actions in its middle are not shown."""
        return max(0, len(self.actions) - SHOWN_ACTIONS)

    @property
    def shown(self) -> Sequence[str]:
        """Its first actions, all of them if they are few."""
        return self.actions[: SHOWN_ACTIONS // 2] if self.left_out else self.actions

    @property
    def shown_last(self) -> Sequence[str]:
        """Its last actions, if some in the middle are left out."""
        return self.actions[-(SHOWN_ACTIONS // 2) :] if self.left_out else ()


def tree(rows: Sequence[EpisodeRow], depth: int = 0) -> list[Branch]:
    """What episodes that took the same `depth` actions did next, the most frequent first, then the better."""
    following: dict[str, list[EpisodeRow]] = {}
    for row in rows:
        if len(row.actions) > depth:
            following.setdefault(row.actions[depth], []).append(row)
    found = [_branch(taken, depth) for taken in following.values()]
    return sorted(found, key=lambda branch: (-len(branch.rows), -branch.mean))


def _branch(rows: list[EpisodeRow], first: int) -> Branch:
    """The actions from `first` on that all of these share, and where they part."""
    shortest = min(rows, key=lambda row: len(row.actions)).actions
    depth = first + 1
    while depth < len(shortest) and all(row.actions[depth] == shortest[depth] for row in rows):
        depth += 1
    ends = [row for row in rows if len(row.actions) == depth]
    return Branch(shortest[first:depth], rows, ends, tree(rows, depth))
