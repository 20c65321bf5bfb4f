"""The strength of one player from games against opponents whose strengths are known.

The chance to win against an opponent that is d points weaker is 1 / (1 + 10^(-d / 400)), and a tie is half a win
(A. E. Elo, The Rating of Chessplayers, Past and Present, 1978). A normal prior around the mean of all agents, as wide
as that of `bradley_terry`, keeps the strength finite for whoever has won every game. The result is the mode of the
posterior, with the interval of a normal distribution of its curvature.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from gem.evaluation.intervals import Z95, Interval
from gem.evaluation.ranking.bradley_terry import ELO, STRENGTH_DEVIATION

MEAN = 1500.0
DEVIATION = STRENGTH_DEVIATION * ELO
MAX_STEPS = 100
CONVERGED = 1e-6


class Score(NamedTuple):
    """Games against opponents of one strength."""

    opponent: float
    """On the Elo scale, with what the seat is worth to the opponent."""
    points: float
    """Wins, and half of the ties."""
    games: int


def performance(scores: Sequence[Score]) -> Interval:
    """The strength on the Elo scale, with its 95 % interval; that of the prior without games."""
    value = MEAN
    for _ in range(MAX_STEPS):
        slope, curvature = (MEAN - value) / DEVIATION**2, DEVIATION**-2
        for score in scores:
            chance = 1 / (1 + math.exp((score.opponent - value) / ELO))
            slope += (score.points - score.games * chance) / ELO
            curvature += score.games * chance * (1 - chance) / ELO**2
        step = max(-DEVIATION, min(DEVIATION, slope / curvature))
        value += step
        if abs(step) < CONVERGED:
            break
    error = Z95 / math.sqrt(curvature)
    return Interval(value, value - error, value + error)
