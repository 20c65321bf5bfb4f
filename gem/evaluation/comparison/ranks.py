"""Which ranks the differences between several agents leave open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class RankInterval(NamedTuple):
    """The ranks that an agent may have; the best is 1."""

    best: int
    worst: int


def rank_intervals(count: int, decided: Iterable[tuple[int, int]]) -> list[RankInterval]:
    """Compute the ranks that each of `count` agents may have.

    An agent ranks below all that were shown to be better, and above all that were shown to be worse. If all claims
    together are right in 95 % of cases (Holm), so are all intervals together (D. Mohamad, J. Goeman and E. van Zwet,
    Simultaneous confidence intervals for ranks, 2019).

    Args:
        decided: the pairs of agents, by number from 0, of which the first is better.
    """
    better, worse = [0] * count, [0] * count
    for winner, loser in decided:
        better[loser] += 1
        worse[winner] += 1
    return [RankInterval(1 + above, count - below) for above, below in zip(better, worse, strict=True)]


def in_words(interval: Sequence[int]) -> str:
    """Return the ranks as a text: "2" or "2–4"."""
    best, worst = interval
    return str(best) if best == worst else f"{best}–{worst}"
