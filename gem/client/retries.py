"""When a request is sent again, and after how long.

A request is repeated only if that cannot do anything twice: it only reads, or writes the same again (`PUT`, `DELETE`),
or carries an `Idempotency-Key`, by which the server knows it. The pauses grow and are drawn at random, so that many
clients do not come back at the same moment; a pause that the server asks for with `Retry-After` is kept.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

IDEMPOTENT_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
REFUSED_UNDONE = 429
"""The status of a request that was not even looked at, so that any may be repeated."""
UNDER_WAY = 409
"""With a `Retry-After`, the status of a request whose first sending is still being answered."""
PASSING = frozenset({408, 425, REFUSED_UNDONE, 502, 503, 504})
"""Statuses that may be gone a moment later."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a request is sent, and how long the pauses in between are."""

    tries: int = 5
    """How often one request is sent at most; 1 never repeats it."""
    first_pause: float = 0.25
    """The longest first pause in seconds; each later one may be twice as long."""
    longest_pause: float = 20.0
    """The longest pause in seconds that the client chooses."""
    longest_wait: float = 120.0
    """The longest pause in seconds that the server may ask for; the error is raised if it asks for more."""
    source: random.Random = field(default_factory=random.Random, repr=False, compare=False)
    """Where the pauses are drawn from."""

    def pause(self, attempt: int) -> float:
        """Draw the pause in seconds after this attempt, counted from 1."""
        return self.source.uniform(0, min(self.longest_pause, self.first_pause * 2 ** min(attempt - 1, 30)))

    def after(self, attempt: int, *, status: int = 0, asked: float = 0.0, repeatable: bool) -> float | None:
        """Return the pause in seconds before the next attempt, or None if there is none.

        Args:
            attempt: the number of the attempt that failed, from 1.
            status: the status of its answer; 0 if no answer came.
            asked: the seconds that the server asks to wait; 0 if it does not.
            repeatable: whether a second request does nothing twice.
        """
        passing = status == 0 or status in PASSING or (status == UNDER_WAY and asked > 0)
        allowed = repeatable or status == REFUSED_UNDONE
        if attempt >= self.tries or not passing or not allowed or asked > self.longest_wait:
            return None
        return max(asked, self.pause(attempt)) if asked else self.pause(attempt)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float:
    """Return the seconds of the header `Retry-After`, which has a number or a date; 0 without a valid one."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    moment = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())
