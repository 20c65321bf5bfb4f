"""Episodes and their turns, which can be replayed from seed and actions.

Everything that people and agents play is stored in these tables: games of people, live shows, evaluations.
"""

from apps.episodes.models.duel_changes import DuelChange
from apps.episodes.models.episodes import Batch, BatchQuerySet, Episode, EpisodeQuerySet
from apps.episodes.models.handovers import MAX_NOTE, Handover
from apps.episodes.models.ids import ALPHABET, ID_LENGTH, make_id
from apps.episodes.models.pending import PendingMistakes, PendingTurn, PendingVerification
from apps.episodes.models.seats import OF_PEOPLE, ORDINALS, TAKEN, Seat
from apps.episodes.models.turns import Turn, TurnManager

__all__ = [
    "ALPHABET",
    "ID_LENGTH",
    "MAX_NOTE",
    "OF_PEOPLE",
    "ORDINALS",
    "TAKEN",
    "Batch",
    "BatchQuerySet",
    "DuelChange",
    "Episode",
    "EpisodeQuerySet",
    "Handover",
    "PendingMistakes",
    "PendingTurn",
    "PendingVerification",
    "Seat",
    "Turn",
    "TurnManager",
    "make_id",
]
