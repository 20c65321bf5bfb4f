"""Ranges of numbers that are not known exactly."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

from gem.evaluation.scores import Z95


class Range(NamedTuple):
    """A number that is not known exactly. All three are at least 0."""

    low: float
    expected: float
    high: float

    @classmethod
    def zero(cls) -> Self:
        """Exactly nothing."""
        return cls(0.0, 0.0, 0.0)

    @classmethod
    def around(cls, expected: float, deviation: float) -> Self:
        """The middle 95 % of a normal distribution."""
        return cls(max(0.0, expected - Z95 * deviation), expected, expected + Z95 * deviation)

    @classmethod
    def between(cls, low: float, high: float) -> Self:
        """A number of which only its order of magnitude is known: the geometric mean of the ends is expected."""
        return cls(low, math.sqrt(low * high), high)

    def plus(self, other: Range) -> Range:
        """The sum of two numbers whose errors may have the same cause, so that low meets low and high meets high."""
        return Range(self.low + other.low, self.expected + other.expected, self.high + other.high)

    def times(self, factor: float) -> Range:
        """The number times a factor that is known exactly and is not negative."""
        return Range(self.low * factor, self.expected * factor, self.high * factor)

    def by(self, other: Range) -> Range:
        """The product of two numbers."""
        return Range(self.low * other.low, self.expected * other.expected, self.high * other.high)

    def at_most(self, limit: float) -> Range:
        """The number, which cannot be above `limit`."""
        return Range(min(self.low, limit), min(self.expected, limit), min(self.high, limit))

    def at_least(self, limit: float) -> Range:
        """The number, which cannot be below `limit`."""
        return Range(max(self.low, limit), max(self.expected, limit), max(self.high, limit))

    @property
    def is_narrow(self) -> bool:
        """Whether both ends are within 5 % of what is expected, so that one number says enough."""
        return self.high - self.low <= 0.1 * self.expected
