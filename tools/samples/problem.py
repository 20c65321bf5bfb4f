"""What a template makes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from gem.rng import SplitMix64


class Made(NamedTuple):
    """A problem and its answer."""

    problem: str
    answer: str | int | float | Fraction | list[str]

    def row(self) -> dict[str, object]:
        """As it is stored: numbers as text, fractions in LaTeX."""
        answer = self.answer
        if isinstance(answer, Fraction):
            answer = fraction(answer)
        return {"problem": self.problem, "answer": str(answer) if isinstance(answer, int) else answer}


Template = Callable[[SplitMix64], Made]


def fraction(value: Fraction) -> str:
    r"""`-\frac{1}{2}`, or an integer."""
    if value.denominator == 1:
        return str(value.numerator)
    return f"{'-' if value < 0 else ''}\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def signed(value: int) -> str:
    """` + 3` or ` - 3`, for a term that follows another."""
    return f" {'-' if value < 0 else '+'} {abs(value)}"


def root(value: int) -> str:
    r"""`\sqrt{value}` with squares drawn out: `2\sqrt{3}`."""
    outside, inside = 1, value
    for factor in range(int(value**0.5), 1, -1):
        if inside % (factor * factor) == 0:
            outside, inside = outside * factor, inside // (factor * factor)
    if inside == 1:
        return str(outside)
    return f"{outside if outside > 1 else ''}\\sqrt{{{inside}}}"
