"""Benchmarks, the leaderboard, and ranked seeds for people."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from gem.client.schemas.base import Answer, Body, Id
from gem.client.schemas.scores import Data


class BenchmarkEntry(Answer):
    """One environment of a benchmark, and the scale that normalizes its returns."""

    env_id: str
    first_seed: int
    episodes: int
    random_return: float
    """The mean return of the random agent, which is 0 on the scale."""
    best_return: float
    """The anchor, which is 1 on the scale."""
    anchor: str = ""
    """Whose return the anchor is: `expert`, or `best possible`."""
    env_version: int = 1
    max_turns: int | None = None
    """The turn limit; null if the benchmark does not say it."""
    hidden_seeds: int = 0
    """The number of seeds that nobody knows."""
    open_set: str = ""
    """Why hidden seeds hide little here; empty if they do hide something."""
    data: str = ""
    """The data that it is played on."""
    data_hash: str = ""
    licence: str = ""
    """The licence of the data."""
    stands_in_for: str = ""
    """The real data in whose place they are; empty if they are the real data."""


class Benchmark(Answer):
    """A versioned list of environments, seeds and rules."""

    name: str
    version: int
    title: str
    summary: str
    score: Literal["clipped", "unclipped"] = "unclipped"
    """Whether the mean of each environment is limited to the range from 0, the random agent, to 1, the anchor."""
    members: list[str] = []
    """The benchmarks that this one unites."""
    entries: list[BenchmarkEntry]
    url: str


class Season(Answer):
    """The time in which a benchmark is played on the hidden seeds of one key."""

    benchmark: str
    version: int
    number: int
    begins: datetime
    ends: datetime
    """No job begins in it from then on."""
    commitment: str
    """The SHA-256 of the key, public from the first day."""
    key: str | None
    """The key in hexadecimal digits; null until the last job of the season has ended."""
    hidden_seeds: dict[str, int]
    """The number of hidden seeds by environment."""


class SeasonPage(Answer):
    """The seasons of a benchmark, the newest first."""

    items: list[Season]
    next: str | None = None


class BenchmarkPage(Answer):
    """All benchmarks."""

    items: list[Benchmark]
    next: str | None = None


class Row(Answer):
    """A row of the leaderboard: the newest score of an agent."""

    id: int
    rank: str
    """`3`, or `2–4` where rows are too close to call; empty of a row without a rank, or that has yet to be ranked."""
    best_rank: int
    worst_rank: int
    """From 1 and the number of rows surely better, to the number of rows less those surely worse; 0 without a rank."""
    agent: str
    agent_name: str
    kind: Literal["model", "program", "person"] = "model"
    """Whether the agent is a model, a program or a person; of an endpoint, this is its owner's claim."""
    owner: str | None
    env_id: str
    """Empty for the whole benchmark."""
    tools: str
    """The tools of the job and their budget, in words; empty without tools."""
    score: float
    """Normalized: 0 is the random agent, 1 the anchor."""
    low: float | None
    high: float | None
    """The ends of the 95 % interval, in which a seed counts once; null where there is none."""
    why_no_interval: str = ""
    mean_return: float
    success_rate: float
    episodes: int
    errors: int
    """Planned episodes that are missing from the row, because they have no result."""
    partial: bool
    """Whether some are missing."""
    success_low: float
    """The share of solved episodes if all missing ones were lost."""
    success_high: float
    """The share of solved episodes if all missing ones were won."""
    stand_ins: list[Data]
    """The data behind the row that stand in for the real data."""
    tokens_per_episode: float | None
    turns_per_episode: float | None = None
    money_per_episode: float | None = None
    """The cost of its requests, in the currency of its own prices; null if it has none, or if you may not see them."""
    actions: int | None = None
    """The agent's actions that were looked at; null in jobs from before unreadable and forbidden ones were counted."""
    unreadable: int | None = None
    """Those that the environment could not understand."""
    forbidden: int | None = None
    """Those that its rules do not allow."""
    job: Id
    created: datetime
    tier: str = ""
    """`reproduced` or `hosted`, of a row whose episodes were executed again; empty on published seeds."""
    group: str = ""
    """The rows that it is ranked with: `played here`, `verified` or `reported`."""
    tries: int | None = None
    """How often its submitter has begun to be ranked with this agent in the season; null where nothing is hidden."""
    mark: Literal["", "flagged", "withdrawn"] = ""
    """The verdict of a maintainer. A withdrawn row has no rank, and is on no board."""
    mark_reason: str = ""


class Proof(Answer):
    """How far a row is proved."""

    state: Literal["waiting", "verified", "differs", "unknown", "none"]
    """`none` of rows on published seeds, which are not executed again."""
    tier: str
    """`reproduced` or `hosted`; empty unless verified."""
    sentence: str
    """The state or the tier, explained in one sentence."""
    executed: int
    """The episodes that were executed again so far."""
    choices: str
    """`same` if the agent chose all actions again, `other machine` if that is not comparable; empty if not repeated."""
    difference: str
    """The first difference; empty if there is none, or while it is closed."""
    notes: dict[str, int]
    """The kinds of outputs that were taken from the records, each with its number of episodes."""
    engine_version: str
    """The engine that executed the episodes."""
    agent: str
    agent_kind: str
    closed: bool
    """Whether nobody may read the episodes, because their season runs."""
    opens: datetime | None
    """When the season ends; null without one, or after it was revealed."""
    certificate: dict[str, Any] | None
    """The signed certificate, which `gemweb verify` reads; null unless verified."""


class RowLeaf(Answer):
    """The digest of an episode of a row, and the proof that the row has it."""

    env_id: str
    index: int
    digest: str
    inclusion: dict[str, Any]


class RowDigests(Answer):
    """The digests of a verified row."""

    row_digest: str
    episodes: list[RowLeaf]


class Leaderboard(Answer):
    """The board of a benchmark, overall or on one environment."""

    benchmark: str
    version: int
    env_id: str
    season: int | None = None
    """The number of the season; null of rows on published seeds."""
    url: str = ""
    """Its page."""
    items: list[Row]


class RankedStart(Body):
    """Which ranked seed to play."""

    env_id: str = ""
    """Only one of this environment; empty for any."""
