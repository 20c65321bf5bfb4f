"""The duel board as pages and the API show it: the kept ratings, with the names of the agents as they are now."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.standings import ratings
from apps.standings.models import Summary
from gem.evaluation.comparison.ranks import in_words
from gem.evaluation.intervals import Interval
from gem.evaluation.ranking import bradley_terry


@dataclass(frozen=True, slots=True)
class RatingRow:
    """A row of the duel board."""

    agent: Agent
    rating: Interval
    """On the Elo scale, where the mean of all agents is 1,500."""
    rank: str
    """`3`, or `2–4` where differences are not decided."""
    won: int
    tied: int
    lost: int

    @property
    def n(self) -> int:
        """Its games."""
        return self.won + self.tied + self.lost


@dataclass(frozen=True, slots=True)
class Pairing:
    """The game that tells most about which of two agents is stronger."""

    env_id: str
    first: Agent
    second: Agent
    chance: float
    """That the first wins, if somebody does."""


@dataclass(frozen=True, slots=True)
class Board:
    """The duel board."""

    rows: list[RatingRow]
    games: list[dict[str, Any]]
    """The environments with the advantage of the first seat, in points of the Elo scale."""
    total: int
    """The number of games in the fit."""
    pairing: Pairing | None
    may_run: bool
    """Whether this person may let both agents of the pairing play."""

    @property
    def low(self) -> float:
        """The lower end of the common axis."""
        return min((row.rating.low for row in self.rows), default=0.0)

    @property
    def high(self) -> float:
        """The upper end of the common axis."""
        return max((row.rating.high for row in self.rows), default=1.0)


def board(viewer: Viewer) -> Board:
    """The ratings of all agents whose names everybody may read."""
    content = _kept()
    rows = _rows(content)
    found = content.get("next")
    by_id = {row.agent.pk: row.agent for row in rows}
    pairing = None
    if found is not None and found["first"] in by_id and found["second"] in by_id:
        pairing = Pairing(found["env_id"], by_id[found["first"]], by_id[found["second"]], found["chance"])
    players = {pairing.first.pk, pairing.second.pk} if pairing else set()
    usable = Agent.objects.selectable_by(viewer).filter(pk__in=players).count()
    games = [
        {**game, "advantage": [round(bradley_terry.ELO * value) for value in game["advantage"]]}
        for game in content.get("games", [])
    ]
    return Board(rows, games, content.get("total", 0), pairing, bool(players) and usable == len(players))


def rows_of(agents: Collection[int]) -> list[RatingRow]:
    """The rows of some agents. One that has played no game of two, or that administrators have hidden, has none."""
    return _rows(_kept(), agents)


def _kept() -> Mapping[str, Any]:
    kept = Summary.objects.filter(name=ratings.NAME).first()
    return kept.content if kept is not None else {}


def _rows(content: Mapping[str, Any], only: Collection[int] | None = None) -> list[RatingRow]:
    """The rows whose agents are not hidden. Their names are public, because they have played public games."""
    rows = [row for row in content.get("rows", []) if only is None or row["agent"] in only]
    agents = Agent.objects.filter(Agent.objects.is_shown()).in_bulk([row["agent"] for row in rows])
    return [
        RatingRow(
            agents[row["agent"]],
            Interval(*row["rating"]),
            in_words(row["ranks"]),
            row["won"],
            row["tied"],
            row["lost"],
        )
        for row in rows
        if row["agent"] in agents
    ]
