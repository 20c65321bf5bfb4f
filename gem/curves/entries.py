"""What a file of a trainer says at once about a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class LoggedEntry:
    """Metrics of a step."""

    metrics: Mapping[str, Any]
    """Numbers by name; objects in it hold further ones."""
    step: int | None = None
    time: float | None = None
    """Seconds since 1970."""
    key: str = ""
    """The same for the same entry of a file that is read again."""
