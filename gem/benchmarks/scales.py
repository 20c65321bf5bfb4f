"""The scale of scores: 0 is the random agent, 1 the anchor, and the mean of an environment is clipped to that range.

The anchor is the expert where there is one, and the best possible return elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from gem.errors import InvalidArgument

Z95 = 1.959963984540054
"""The 97.5th percentile of the standard normal distribution."""
MIN_DISTANCE = 2.0
"""The least distance between anchor and random agent, in standard errors of the mean of the episodes of a row."""
BEST_POSSIBLE = "best possible"
"""Who reaches an anchor that nobody has to measure."""
Rule = Literal["clipped", "unclipped"]
"""How returns become a score. `unclipped` is the rule of the first benchmark, whose rows stay as they are."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A mean return that defines one end of a scale."""

    by: str
    """Who reaches it: `random`, `expert`, `best possible`."""
    mean: float
    low: float
    high: float
    """The ends of the 95 % interval of the mean are `low` and `high`."""
    n: int = 0
    """The number of measured episodes; 0 for the best possible return."""

    def standard_error(self, n: int) -> float:
        """The standard error of a mean over `n` episodes of this player, from the interval of the `self.n` measured."""
        return 0.0 if self.n == 0 or n < 1 else (self.high - self.low) / (2 * Z95) * math.sqrt(self.n / n)


def normalize(value: float, low: float, high: float) -> float:
    """Convert `value` to the scale on which `low` (the random agent) is 0 and `high` (the anchor) is 1.

    The result is not clipped.

    Raises:
        InvalidArgument: if `high` is not above `low`.
    """
    if not high > low:
        raise InvalidArgument(f"A scale needs a high end above its low end, not {low} and {high}.")
    return (value - low) / (high - low)


def clip(value: float) -> float:
    """Limit a value to the range from 0 to 1."""
    return min(1.0, max(0.0, value))


def score(mean: float, low: float, high: float, rule: Rule = "clipped") -> float:
    """Convert the mean return over all episodes of an environment to a score.

    The mean is clipped and not the single episodes, so that a lucky episode counts for what an unlucky one costs. One
    environment far below random can no longer ruin a row.

    Raises:
        InvalidArgument: if `high` is not above `low`.
    """
    value = normalize(mean, low, high)
    return clip(value) if rule == "clipped" else value


def distance(random: Reference, anchor: Reference, n: int) -> float:
    """How far the anchor is above the random agent, in standard errors of the mean of `n` episodes.

    The standard error is the larger one of the two players'. Infinite if the returns of neither vary.
    """
    error = max(random.standard_error(n), anchor.standard_error(n))
    gap = anchor.mean - random.mean
    return gap / error if error else math.copysign(math.inf, gap) if gap else 0.0
