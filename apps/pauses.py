"""Pauses after a service has failed: whoever needs it next does not wait for it again."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic


@dataclass(slots=True)
class Pause:
    """Some seconds in which a process asks nothing of a service that did not answer it."""

    seconds: float = 5.0
    _until: float = field(default=0.0, init=False)

    @property
    def lasts(self) -> bool:
        """Whether it has begun and is not over."""
        return monotonic() < self._until

    def begin(self) -> None:
        """Begin it, or begin it anew."""
        self._until = monotonic() + self.seconds
