"""Spaces of texts, as Gymnasium and PettingZoo describe observations and actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gymnasium import spaces

SAMPLE_LENGTH = 80
"""Characters of a text that a space draws."""


class AnyText(spaces.Text):
    """Every text; drawing from it gives a short one of printable characters, or what `drawn` returns."""

    def __init__(self, seed: int | None = None, drawn: Callable[[], str] | None = None) -> None:
        super().__init__(SAMPLE_LENGTH, min_length=0, seed=seed)
        self._drawn = drawn

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A text that is in the space."""
        return str(super().sample()) if self._drawn is None else self._drawn()

    def contains(self, x: Any) -> bool:
        """Whether it is a text."""
        return isinstance(x, str)
