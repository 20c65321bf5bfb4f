"""The tables of the leaderboard: scores and their ranks, what proves them, results from elsewhere, and keys."""

from apps.leaderboard.models.challenges import Challenge
from apps.leaderboard.models.keys import SiteKey
from apps.leaderboard.models.rankings import FirstPlace, Ranking
from apps.leaderboard.models.reexecutions import Reexecution
from apps.leaderboard.models.reports import ReportedRow
from apps.leaderboard.models.scores import Score, ScoreQuerySet

__all__ = ["Challenge", "FirstPlace", "Ranking", "Reexecution", "ReportedRow", "Score", "ScoreQuerySet", "SiteKey"]
