"""The analysis of the results of an evaluation, the tables to export, and the changes that owners make."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gem.client.schemas.base import Answer, Body, Id
from gem.client.schemas.scores import Data
from gem.evaluation.submission import MAX_NAME, MAX_NOTES
from gem.validation.whole import Flag

Table = Literal["episodes", "turns", "scores"]
TableFormat = Literal["csv", "jsonl", "parquet"]


class ResultEstimate(Answer):
    """A mean with its 95 % interval over seeds."""

    mean: float
    low: float | None
    high: float | None
    seeds: int
    reason: str
    """Why there is no interval; empty if there is one."""


class GroupResult(Answer):
    """The results of the environments of one category or difficulty, with equal weights."""

    name: str
    env_ids: list[str]
    episodes: int
    counted: int
    success: ResultEstimate | None
    """The share of solved episodes; null before the first one that counts."""
    mean_return: ResultEstimate | None


class DistributionBin(Answer):
    """The episodes with a value from `low` to below `high`."""

    low: float
    high: float
    episodes: int
    solved: int


class Distribution(Answer):
    """How a number is distributed over the episodes that count."""

    metric: Literal["return", "turns", "tokens", "answer_seconds"]
    episodes: int
    """Those in which it was measured."""
    low: float
    high: float
    median: float
    ninth_decile: float
    bins: list[DistributionBin]


class FailureCluster(Answer):
    """Episodes that were not solved and ended alike."""

    kind: Literal["environment", "agent", "other", "turns", "tokens", "unreadable", "forbidden", "rules"]
    """environment, agent and other are errors, and these episodes do not count."""
    text: str
    """The last message of the environment, without numbers, ids and quotations."""
    episodes: int
    env_ids: dict[str, int]
    """The number of its episodes by environment."""
    examples: list[Id]
    """Some of its episodes."""


class Replay(Answer):
    """An episode to look at first."""

    episode: Id
    env_id: str
    seed: int
    total_reward: float
    turns: int
    outcome: Literal["won", "lost", "limit"]


class Analysis(Answer):
    """The analysis of the results of an evaluation."""

    categories: list[GroupResult]
    difficulties: list[GroupResult]
    distributions: list[Distribution]
    """Tokens are missing if no agent counted any, answer times if no agent measured them."""
    failures: list[FailureCluster]
    more_failures: int
    """Further clusters, which are left out."""
    worst: list[Replay]
    best: list[Replay]


class SeedResult(Answer):
    """The outcome of one seed in one environment: all its tries and seats."""

    env_id: str
    seed: int
    episodes: int
    counted: int
    """Those that count."""
    solved: int
    mean_return: float | None


class SeedPage(Answer):
    """Seeds by environment and seed."""

    items: list[SeedResult]
    next: str | None = None


class ExportColumn(Answer):
    """A column of a table."""

    name: str
    type: Literal["text", "whole", "number", "truth", "time", "json"]
    description: str


class Exports(Answer):
    """The tables of an evaluation that one can export."""

    partial: bool
    """Whether planned episodes are missing."""
    missing_episodes: int
    data: list[Data]
    tables: dict[Table, list[ExportColumn]]


class JobChange(Body):
    """A change of an evaluation by its owner. Fields that are left out, or null, stay as they are."""

    name: Annotated[str, Field(max_length=MAX_NAME)] | None = None
    notes: Annotated[str, Field(max_length=MAX_NOTES)] | None = None
    tags: list[str] | None = None
    archived: Flag | None = None
