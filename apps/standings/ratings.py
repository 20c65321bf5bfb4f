"""The ratings of the duel board: one fit of a Bradley-Terry model to all games that anybody may see.

It is computed when there are new games (`refresh`) and kept as a `Summary`. The statistics are in
`gem.evaluation.ranking.bradley_terry`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations
from statistics import NormalDist
from typing import Any

from django.db.models import Count

from apps.agents.models import Agent
from apps.episodes.models import Episode
from apps.jobs.models import Job
from apps.standings.models import Game, JobResult, Summary
from gem import registry
from gem.agents import has_expert
from gem.errors import UnknownEnvironment
from gem.evaluation.comparison.differences import holm
from gem.evaluation.comparison.ranks import rank_intervals
from gem.evaluation.intervals import Z95
from gem.evaluation.ranking import bradley_terry
from gem.evaluation.ranking.bradley_terry import Strengths

NAME = "ratings"
MOST_AGENTS = 100
"""Agents in the fit: those with the most games."""
ERROR = 0.05
RESULTS = ("won", "tied", "lost")


@dataclass(frozen=True, slots=True)
class Played:
    """How often the agents of a pair, in these seats, won, tied and lost in a game."""

    env_id: str
    first: int
    second: int


def refresh() -> bool:
    """Compute the ratings anew if there are other games than before. Returns whether they were computed."""
    counts = count_games()
    mark = sha256(repr(sorted(counts.items(), key=str)).encode()).hexdigest()
    kept = Summary.objects.filter(name=NAME).first()
    if kept is not None and kept.mark == mark:
        return False
    content = fit(counts)
    Summary.objects.update_or_create(name=NAME, defaults={"content": content, "mark": mark})
    return True


def count_games() -> Counter[tuple[Played, str]]:
    """All games that anybody may see, by agents, seats and result."""
    counts: Counter[tuple[Played, str]] = Counter()
    jobs = Job.objects.evaluations().published().values("pk")
    for games in JobResult.objects.filter(job__in=jobs).exclude(games=[]).values_list("games", flat=True):
        for env_id, first, second, *results in games:
            for result, times in zip(RESULTS, results, strict=True):
                counts[Played(env_id, first, second), result] += times
    live = Game.objects.filter(episode__in=Episode.objects.published().values("pk"))
    for env_id, first, second, result, times in live.values_list("env_id", "first", "second", "result").annotate(
        times=Count("pk")
    ):
        counts[Played(env_id, first, second), result] += times
    return Counter({key: times for key, times in counts.items() if times})


def fit(counts: Mapping[tuple[Played, str], int]) -> dict[str, Any]:
    """The rows of the board, the games, and the pairing that tells most; without rows if nobody has played."""
    played: Counter[int] = Counter()
    for (pair, _), times in counts.items():
        played[pair.first] += times
        played[pair.second] += times
    among = {agent for agent, _ in played.most_common(MOST_AGENTS)}
    games = [
        bradley_terry.Game(pair.env_id, str(pair.first), str(pair.second), result, times)  # type: ignore[arg-type]
        for (pair, result), times in sorted(counts.items(), key=str)
        if pair.first in among and pair.second in among
    ]
    if not games:
        return {"rows": [], "games": [], "next": None, "total": 0}
    strengths = bradley_terry.fit(games)
    agents = Agent.objects.in_bulk([int(name) for name in strengths.names])
    return {
        "rows": _rows(strengths, games),
        "games": [
            {"env_id": env_id, "advantage": list(strengths.advantages[env_id]), "n": n}
            for env_id, n in sorted(_sizes(games).items())
        ],
        "next": _next(strengths, agents),
        "total": sum(game.times for game in games),
    }


def _sizes(games: list[bradley_terry.Game]) -> dict[str, int]:
    sizes: Counter[str] = Counter()
    for game in games:
        sizes[game.game] += game.times
    return dict(sizes)


def _rows(strengths: Strengths, games: list[bradley_terry.Game]) -> list[dict[str, Any]]:
    """One row for each agent, the strongest first, with the ranks that are left open (Holm over all pairs)."""
    tallies = {name: dict.fromkeys(RESULTS, 0) for name in strengths.names}
    for game in games:
        opposite = {"won": "lost", "tied": "tied", "lost": "won"}[game.result]
        tallies[game.first][game.result] += game.times
        tallies[game.second][opposite] += game.times
    names = list(strengths.names)
    pairs = list(combinations(range(len(names)), 2))
    p_values = []
    for one, other in pairs:
        difference = strengths.difference(names[one], names[other])
        error = (difference.high - difference.low) / (2 * Z95)
        p_values.append(2 * NormalDist().cdf(-abs(difference.mean) / error) if error > 0 else 1.0)
    decided = [pair for pair, p_value in zip(pairs, holm(p_values), strict=True) if p_value < ERROR]
    ranks = rank_intervals(len(names), decided)
    return [
        {
            "agent": int(name),
            "rating": [round(value, 1) for value in strengths.elo(name)],
            "ranks": list(ranks[place]),
            "n": sum(tallies[name].values()),
            **tallies[name],
        }
        for place, name in enumerate(names)
    ]


def _next(strengths: Strengths, agents: Mapping[int, Agent]) -> dict[str, Any] | None:
    """The game that tells most about which of two agents is stronger, of those that agents can play now."""

    def can_play(game: str, first: str, second: str) -> bool:
        return all(_can_play(game, agents.get(int(name))) for name in (first, second))

    found = bradley_terry.most_telling(strengths, can_play=can_play)
    if found is None:
        return None
    chances = strengths.chances(found.game, found.first, found.second)
    return {
        "env_id": found.game,
        "first": int(found.first),
        "second": int(found.second),
        "information": found.information,
        "chance": chances[0] / (chances[0] + chances[2]) if chances[0] + chances[2] else 0.5,
    }


def _can_play(env_id: str, agent: Agent | None) -> bool:
    """Whether an agent is there to play a game of two."""
    if agent is None or agent.retired or agent.kind == Agent.Kind.HUMAN:
        return False
    try:
        spec = registry.spec(env_id)
    except UnknownEnvironment:
        return False
    return spec.seats == 2 and (agent.kind != Agent.Kind.EXPERT or has_expert(env_id))
