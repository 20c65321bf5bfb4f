"""Results from elsewhere: challenges, whose episodes are executed again, and rows that are only reported."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from gem.client.schemas.base import Answer, Body, Id, Visibility
from gem.validation.whole import Whole

DeclaredKind = Literal["model", "program", "person"]
"""The owner's claim about what an agent is."""


class NewChallenge(Body):
    """A challenge to draw: the agent that will play its seeds."""

    agent: str
    """The name that the row will have."""
    kind: DeclaredKind
    tools: list[str] = []
    """Tools between its actions, such as `python`. A row with tools is ranked apart."""
    max_tool_uses: Whole | None = None
    tool_format: Literal["tags", "native"] | None = None
    visibility: Visibility | None = None
    """The visibility of the row and its episodes once they are verified; null for the default of the account."""


class Challenge(Answer):
    """Seeds that were drawn for the caller. It counts as a try, whatever becomes of it."""

    id: Id
    benchmark: str
    version: int
    season: int
    submission: int
    """Its number in the season, which its seeds depend on besides the key."""
    agent: str
    kind: DeclaredKind
    tools: list[str]
    visibility: Visibility
    state: Literal["open", "sent", "verified", "reported", "unused", "failed"]
    """`sent` while a worker executes the episodes again; `unused` and `failed` when the deadline has passed."""
    deadline: datetime
    """Episodes that arrive later are not taken."""
    episodes: int
    """The number of episodes to play."""
    executed: int
    """The episodes that were executed again so far."""
    uploads: int
    """How often episodes were sent."""
    problem: str
    """Why the episodes that were sent last are not verified, as a sentence; empty if nothing is wrong."""
    place: int | None
    """Its place in the queue; null unless it waits for a worker."""
    tries: int
    """The challenges of the account in this season, this one included."""
    row: int | None
    """The row of the leaderboard; null unless verified."""
    reported_row: Id | None
    """The reported row; null unless reported."""
    created: datetime
    url: str


class ChallengePage(Answer):
    """Challenges of the caller, the newest first."""

    items: list[Challenge]
    next: str | None = None


class ReportedNumbers(Body):
    """The reported result in one environment."""

    env_id: Annotated[str, Field(min_length=1, max_length=120)]
    mean_return: Annotated[float, Field(allow_inf_nan=False)]
    episodes: Annotated[Whole, Field(ge=1)]
    success_rate: Annotated[float, Field(ge=0, le=1)]
    """The share of solved episodes, from 0 to 1."""


class NewReportedRow(Body):
    """A result from elsewhere. It has numbers of all environments of the benchmark."""

    agent: str
    kind: DeclaredKind
    environments: Annotated[list[ReportedNumbers], Field(min_length=1, max_length=300)]
    tools: str = ""
    """The tools that it used, in words; empty without tools."""
    link: str = ""
    """Where it is published."""
    notes: str = ""
    visibility: Visibility | None = None


class ReportedEnvironment(Answer):
    """A part of a reported row."""

    env_id: str
    mean_return: float
    episodes: int
    success_rate: float
    score: float
    """On the scale of the benchmark."""


class ReportedRow(Answer):
    """Numbers that somebody reports. Nothing proves them."""

    id: Id
    rank: int | None = None
    """Its place among the reported rows of its benchmark; null of a single row."""
    benchmark: str
    version: int
    agent: str
    kind: DeclaredKind
    owner: str
    tools: str
    score: float
    episodes: int
    environments: list[ReportedEnvironment]
    source: Literal["numbers", "challenge"]
    """`challenge`: its episodes agree but for outputs of tools that do not repeat."""
    link: str
    notes: str
    visibility: Visibility
    created: datetime
    url: str


class ReportedRows(Answer):
    """The reported rows of a benchmark, the best first. They are ranked apart from all others."""

    items: list[ReportedRow]
