"""How much a metric differs from batch to batch by chance, and whether it changed by more than that."""

from __future__ import annotations

import math
from collections.abc import Sequence

WINDOW = 5
"""The number of the first updates that make up the start of a training, and of the last ones that are its present."""
MAX_DIFFERENCES = 50
"""The newest differences between neighbouring updates that the noise is estimated from."""


class Curve:
    """The values of one metric, update by update; updates without a value are left out.

    The noise is estimated from the differences between neighbouring updates (von Neumann, 1941): half of their mean
    square is the variance of a batch, and a slow change of the mean hardly enters it.

    Args:
        window: the number of the first updates, and of the last ones, that are averaged.
    """

    def __init__(self, window: int = WINDOW) -> None:
        self._window = window
        self.count = 0
        self.last = 0.0
        self.highest = -math.inf
        self._first: list[float] = []
        self._newest: list[float] = []
        self._squares: list[float] = []
        self._sizes: list[float] = []

    def add(self, value: float | None, of: float = 0.0) -> None:
        """Take in the value of the next update.

        Args:
            of: for a share, the number of episodes that it is a share of; the error is then at least the binomial one.
        """
        if value is None or not math.isfinite(value):
            return
        if self.count:
            self._squares = [*self._squares, (value - self.last) ** 2][-MAX_DIFFERENCES:]
        self._first = [*self._first, value][: self._window]
        self._newest = [*self._newest, value][-self._window :]
        self._sizes = [*self._sizes, of][-self._window :]
        self.count, self.last, self.highest = self.count + 1, value, max(self.highest, value)

    @property
    def first(self) -> float:
        """The first value; 0 without any."""
        return self._first[0] if self._first else 0.0

    @property
    def start(self) -> float:
        """The mean over the first updates; 0 without any."""
        return mean(self._first)

    @property
    def recent(self) -> float:
        """The mean over the last updates; 0 without any."""
        return mean(self._newest)

    @property
    def fall(self) -> float:
        """How far the present is below the start."""
        return self.start - self.recent

    @property
    def error(self) -> float:
        """The standard error of `fall`."""
        return self.error_of(len(self._newest))

    def error_of(self, count: int) -> float:
        """The standard error of the difference between the start and a mean over `count` other updates."""
        variance = max(mean(self._squares) / 2, self._binomial_variance)
        return math.sqrt(variance * (1 / max(len(self._first), 1) + 1 / max(count, 1)))

    @property
    def _binomial_variance(self) -> float:
        size = min(self._sizes, default=0.0)
        if size <= 0:
            return 0.0
        share = min(max(self.start, 0.0), 1.0)
        return share * (1 - share) / size


def mean(values: Sequence[float]) -> float:
    """The mean; 0 of nothing."""
    return sum(values) / len(values) if values else 0.0
