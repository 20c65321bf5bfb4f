"""What people can order to be done with an episode that a worker plays."""

from __future__ import annotations

from enum import StrEnum


class Order(StrEnum):
    """An order about an episode. The worker that plays it obeys at the next turn, or while it waits for an answer."""

    FAIL = "fail"
    """End it, and count it as not solved, with the return that it has."""
    DROP = "drop"
    """End it, and do not count it."""
    AGAIN = "again"
    """Break it off, and play it again from its beginning."""
