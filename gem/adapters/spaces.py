"""The space of all strings, which describes observations and actions for Gymnasium and PettingZoo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gymnasium import spaces

SAMPLE_LENGTH = 80
"""The maximum length of a string that a space samples."""


class AnyText(spaces.Text):
    """The space of all strings; a sample is a short one of printable characters, or what `sampler` returns."""

    def __init__(self, seed: int | None = None, sampler: Callable[[], str] | None = None) -> None:
        super().__init__(SAMPLE_LENGTH, min_length=0, seed=seed)
        self._sampler = sampler

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Draw a string."""
        return str(super().sample()) if self._sampler is None else self._sampler()

    def contains(self, x: Any) -> bool:
        """Whether `x` is a string."""
        return isinstance(x, str)
