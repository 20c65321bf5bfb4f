"""The tables of the leaderboard: scores, the re-executions that prove them, and the keys that sign certificates."""

from apps.leaderboard.models.keys import SiteKey
from apps.leaderboard.models.reexecutions import Reexecution
from apps.leaderboard.models.scores import Score, ScoreQuerySet

__all__ = ["Reexecution", "Score", "ScoreQuerySet", "SiteKey"]
