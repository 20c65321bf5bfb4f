"""The rating of one person in their games against agents that the duel board rates."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.db.models import Q

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.episodes.models import Batch, Episode
from apps.episodes.visibility import seats_of
from apps.standings import boards
from apps.standings.models import Game
from gem.evaluation.intervals import Interval
from gem.evaluation.ranking.performance import Score, performance

MOST_GAMES = 1000
"""The newest so many count."""


@dataclass(frozen=True, slots=True)
class Against:
    """The games of a person against one agent."""

    agent: Agent
    won: int
    tied: int
    lost: int


@dataclass(frozen=True, slots=True)
class OwnRating:
    """What the games of a person say about their strength."""

    rating: Interval | None
    """On the scale of the duel board; None without rated games."""
    games: int
    against: list[Against]
    """Each opponent, the strongest first."""


def own_rating(user: Viewer, visitor: str) -> OwnRating:
    """The rating of this person now, from the kept ratings of the agents."""
    results = _results(user, visitor)
    board = boards.board(user)
    advantages = {row["env_id"]: row["advantage"][0] for row in board.games}
    rated = {row.agent.pk: row for row in board.rows}
    scores: list[Score] = []
    tallies: dict[int, Counter[str]] = {}
    for (env_id, agent, is_first, result), times in results.items():
        if agent not in rated:
            continue
        advantage = advantages.get(env_id, 0.0) * (-1 if is_first else 1)
        points = {"won": 1.0, "tied": 0.5, "lost": 0.0}[result] * times
        scores.append(Score(rated[agent].rating.mean + advantage, points, times))
        tallies.setdefault(agent, Counter())[result] += times
    against = [
        Against(row.agent, tallies[key]["won"], tallies[key]["tied"], tallies[key]["lost"])
        for key, row in rated.items()
        if key in tallies
    ]
    return OwnRating(performance(scores) if scores else None, sum(score.games for score in scores), against)


def _results(user: Viewer, visitor: str) -> Counter[tuple[str, int, bool, str]]:
    """Environment, opponent, whether the person was first, and the result for them, with how often it happened."""
    own = seats_of(user, visitor)
    played = own.values("episode")
    duels = Episode.objects.filter(pk__in=played, batch__kind=Batch.Kind.DUEL).values("batch")
    games = Game.objects.filter(Q(pk__in=played) | Q(episode__batch__in=duels)).select_related("first", "second")
    results: Counter[tuple[str, int, bool, str]] = Counter()
    opposite = {"won": "lost", "tied": "tied", "lost": "won"}
    for game in games.order_by("-created")[:MOST_GAMES]:
        is_first = game.first.kind == Agent.Kind.HUMAN
        opponent = game.second_id if is_first else game.first_id
        results[game.env_id, opponent, is_first, game.result if is_first else opposite[game.result]] += 1
    return results
