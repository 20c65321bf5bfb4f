"""Rows of a board, with the ranks that a worker has computed (`boards.computing`)."""

from __future__ import annotations

from dataclasses import dataclass

from apps.leaderboard.models import Score


@dataclass(frozen=True, slots=True)
class Row:
    """A row, and its best and worst possible rank; both are 0 of one that has no rank, or none yet."""

    score: Score
    best: int = 0
    worst: int = 0
    row: int = 0
    """The id of the overall score, by which the row is known."""

    @property
    def rank(self) -> str:
        """`3`, or `2–4` where rows are too close to call; empty without a rank."""
        if not self.best:
            return ""
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"
