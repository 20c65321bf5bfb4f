"""Profiles of agents, ratings of duels, people as rows, and the daily seed."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

from pydantic import Field

from gem.client.schemas.base import Answer, Body, Id
from gem.validation.whole import Flag, Whole


class AgentFacts(Body):
    """The owner's claims about an agent; a field that is left out is unknown."""

    nature: Literal["", "model", "program", "person"] = ""
    """Of an endpoint: what answers; empty for a model."""
    parameters: Whole | None = Field(default=None, gt=0, lt=2**60)
    """Of an endpoint: the number of parameters of its model."""
    openness: Literal["", "open", "closed"] = ""
    """Of an endpoint: whether the weights of its model are published."""
    plays_daily: Flag = False
    """Whether it plays the daily seed, at the cost of its owner, if it is public."""


class ProfileCell(Answer):
    """The newest public evaluation of a version of an agent in one environment."""

    env_id: str
    version: str
    setting: str
    """Tools, wrappers, opponent or limits that set it apart; empty without any."""
    job: Id
    episodes: int
    seeds: int
    errors: int
    solved: float | None
    """The share of solved episodes, and the ends of its 95 % interval."""
    solved_low: float | None
    solved_high: float | None
    mean_return: float | None
    turns: float
    """The mean number of turns."""
    tokens_per_solved: float | None
    """Tokens of all episodes for each solved one; null if nothing counted them."""


class Rating(Answer):
    """A row of the duel board."""

    agent: str
    name: str
    rank: str
    """Such as `2–4`: what the games leave open."""
    rating: float
    """On the Elo scale; the mean of all agents is 1,500."""
    low: float
    high: float
    """The ends of the 95 % interval."""
    won: int
    tied: int
    lost: int


class BoardPlace(Answer):
    """The row of an agent on the board of a benchmark."""

    benchmark: str
    row: int
    score: float
    low: float | None
    high: float | None
    rank: str
    of: int
    """How many rows rank."""
    tier: str


class AgentProfile(Answer):
    """The results of an agent: what the public sees of it, the same for everybody."""

    agent: str
    results: list[ProfileCell]
    boards: list[BoardPlace]
    rating: Rating | None
    computed: datetime | None
    """When it was composed; null if there is no public evaluation yet."""


class NextGame(Answer):
    """The game that tells most about which of two agents is stronger."""

    env_id: str
    first: str
    second: str


class Ratings(Answer):
    """The duel board: one fit over all public games of two and duels."""

    games: int
    items: list[Rating]
    next_game: NextGame | None


class PeopleRow(Answer):
    """All people together, or one who wants to be named, on a benchmark."""

    name: str
    people: int
    episodes: int
    score: float | None
    """0 is the random agent and 1 the anchor; null while not all environments were played."""
    low: float | None
    high: float | None
    reason: str
    """Why there is no interval, as a sentence."""
    solved: float
    environments: int


class People(Answer):
    """People as rows of a benchmark: first tries on seeds of their own, without hints."""

    benchmark: str
    env_id: str
    items: list[PeopleRow]


class DailyRow(Answer):
    """A try at a daily seed."""

    rank: str
    agent: str | None
    """The slug of an agent; null of a person."""
    name: str
    """That of an agent, or of a person who wants to be named; empty for other people."""
    mine: bool
    solved: bool
    turns: int
    score: float
    """The return."""
    tokens: int | None
    ended: datetime
    episode: Id | None
    """When the day is over, if everybody may see it."""


class DailySeed(Answer):
    """The daily seed of a day. Results are there when your own try is over, and for everybody when the day is."""

    number: int
    day: date
    env_id: str
    begins: datetime
    ends: datetime
    commitment: str
    key: str | None
    seed: int | None
    """Null until the day is over."""
    people: int
    """How many have finished it."""
    agents: int
    episode: Id | None
    """Your own try."""
    solved: bool | None
    turns: int | None
    verdict: str
    """Such as `Better than 73 % of people and 4 of 6 agents`; empty before your try is over."""
    items: list[DailyRow]
    url: str
