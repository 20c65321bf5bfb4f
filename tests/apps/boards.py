"""Boards whose rankings are computed at once, where a test has no worker."""

from apps.leaderboard.boards import computing


def rank_all() -> int:
    """Compute the rankings of all boards whose rows have changed. Returns their number."""
    return computing.compute_all()
