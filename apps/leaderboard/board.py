"""The ranking: one row per agent, with a range of ranks where intervals overlap.

A score without an interval may be anywhere, as far as is known: its rank is the whole range, and it narrows the rank of
nobody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.leaderboard.models import Score


@dataclass(frozen=True, slots=True)
class Row:
    """An agent's latest score, and its best and worst possible rank."""

    score: Score
    best: int
    worst: int

    @property
    def rank(self) -> str:
        """`3`, or `2–4` where intervals overlap or one of them is not known."""
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"


def ranked(scores: Sequence[Score]) -> list[Row]:
    """Rows from the highest mean to the lowest.

    The best rank counts only the agents whose intervals are above. The worst counts all whose intervals are not below.
    """
    rows = []
    for score in sorted(scores, key=lambda score: (-score.mean, score.agent.name)):
        better = sum(_is_above(other, score) for other in scores)
        worse = sum(_is_above(score, other) for other in scores)
        rows.append(Row(score, better + 1, len(scores) - worse))
    return rows


def _is_above(first: Score, second: Score) -> bool:
    """Whether the whole interval of the first score is above that of the second; never without both."""
    return first.low is not None and second.high is not None and first.low > second.high
