"""Episodes of one seat that are contests: the environment itself plays the other seat.

One side's gain is the other's loss, so they are won, lost or drawn; to "solve" them would say little.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from apps.episodes.models import Episode
from gem import registry
from gem.errors import GemError

Result = Literal["won", "lost", "drawn", ""]


def contest_result(episode: Episode) -> Result:
    """How a contest against the environment's own opponent ended; empty if it is no contest or has no result."""
    if episode.status != Episode.Status.ENDED or episode.seat_count > 1 or not _is_contest(episode.env_id):
        return ""
    if episode.success:
        return "won"
    total = next((seat.total_reward for seat in episode.seats.all()), 0.0)
    if episode.truncated and total == 0:
        return ""  # nobody has won within the limit of turns
    return "lost" if total < 0 else "drawn"


@cache
def _is_contest(env_id: str) -> bool:
    """Whether an agent of the environment plays the other seat of a game whose rewards sum to zero."""
    try:
        spec = registry.spec(env_id)
        if not spec.kwargs.get("opponent"):
            return False
        forfeit = getattr(spec.load(), "forfeit", None)
    except GemError:  # it is not registered any more, or cannot be loaded: its old episodes are still shown
        return False
    return forfeit is not None and sum(forfeit) == 0
