"""Studies: how one is started, how far it is, and what its results allow to say."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from gem.client.schemas.base import Answer, Body, Id, Visibility
from gem.validation.whole import Flag, Whole

StudyState = Literal["queued", "running", "paused", "done", "cancelled", "failed"]


class NewStudy(Body):
    """A study to start: one that comes with the site, by its name, or a plan."""

    study: Annotated[str, Field(max_length=40)] = ""
    plan: dict[str, Any] = {}
    """A plan as `gem.studies` reads it, if no study is named."""
    seeds: Annotated[Whole, Field(ge=1, le=100)] | None = None
    """Trainings of each variant in each environment; what the plan says if it is left out."""
    environments: list[str] = []
    """Only these; all if there are none."""
    title: Annotated[str, Field(max_length=100)] = ""
    visibility: Visibility | None = None
    keeps_policies: Flag = False
    """Whether the last policy of each compared run becomes an agent."""
    reuses_results: Flag = True
    """Whether runs whose result comes with the site are not made again."""


class StudyEstimate(Answer):
    """The estimated effort of a study."""

    runs: int
    to_make: int
    """Those whose result does not come with the site."""
    cpu_seconds: float
    """Of those that are to be made and of which something is known."""
    unknown: list[str]
    """The environments of which nothing is known."""


class StudySummary(Answer):
    """A study, with how far it is."""

    id: Id
    url: str
    title: str
    question: str
    state: StudyState
    reason: str
    """Why it failed."""
    owner: str
    visibility: Visibility
    total: int
    done: int
    reused: int
    """Runs whose result came with the site."""
    cpu_seconds: float
    """Of the runs that were made on the site."""
    created: datetime
    started: datetime | None
    ended: datetime | None


class StudyPage(Answer):
    """Studies, the newest first."""

    items: list[StudySummary]
    next: str | None = None


class Share(Answer):
    """A share, with its 95 % interval; null where there are too few seeds."""

    mean: float
    low: float | None
    high: float | None


class StudyRow(Answer):
    """A variant of a study."""

    variant: str
    title: str
    solved: Share
    """The interquartile mean over environments and seeds, with its stratified bootstrap interval."""
    area: float
    """The mean share solved during the whole training."""
    environments: dict[str, Share]
    """The mean share solved in each environment, with Student's t interval over seeds."""


class Study(StudySummary):
    """A study, with what its results allow to say."""

    plan: dict[str, Any]
    sentences: list[str]
    rows: list[StudyRow]
    """The variants, the one that solves most first; none before each has a result in some environment."""


class StudyRun(Answer):
    """A run of a study."""

    number: int
    file: str
    """The name of its file among the results of a study."""
    environment: str
    variant: str
    seed: int
    tuned: Any = None
    """The value of the tuned setting; null if nothing is tuned."""
    state: Literal["waiting", "running", "done", "failed"]
    reason: str
    """Why it failed."""
    update: int
    updates: int
    reused: bool
    result: dict[str, Any] | None
    """As the repository keeps it; null before it has ended."""
    agent: str | None
    """Its policy, if the study keeps policies."""


class StudyRunPage(Answer):
    """The runs of a study, in the order in which they are made."""

    items: list[StudyRun]
    next: str | None = None
