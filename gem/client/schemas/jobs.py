"""Jobs: evaluations with their results, trainings with their curves and checkpoints; benchmarks and the leaderboard."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from gem.client.schemas.base import Answer, Body, Id, JobState, Outcome, Visibility
from gem.evaluation.spec import EvaluationSpec


class NewEvaluation(Body):
    """An evaluation to submit."""

    spec: EvaluationSpec
    name: Annotated[str, Field(max_length=120)] = ""
    visibility: Visibility | None = None


class Score(Answer):
    """Results so far, of an evaluation or of one of its environments."""

    env_id: str
    """Empty for all environments together."""
    episodes: int
    """Episodes that are to be played."""
    done: int
    counted: int
    """Episodes that count: without environment errors and unanswered episodes."""
    won: int
    limited: int
    errors: int
    """Episodes that are not counted."""
    unanswered: int
    """The errors in which the agent gave no answer."""
    success_rate: float | None
    low: float | None
    """The lower end of the 95 % interval of the share of solved episodes."""
    high: float | None
    mean_return: float | None
    tokens_in: int
    tokens_out: int
    """Of the finished episodes. What all requests used is in `Books`."""


class Books(Answer):
    """What all requests of an evaluation used, also those of episodes that were cut off, and of lost answers."""

    tokens_in: int
    tokens_out: int
    tokens_estimated: int
    """The part of both that no server has counted: lost answers, which count as the most that they can be."""
    tokens_reserved: int
    """The most tokens of the requests that are under way; not part of the others."""
    requests: int
    """Requests that were sent and are over; 0 if the job is older than its books."""
    cost: float | None
    """At the agents' prices, for those who may see them."""


class JobSummary(Answer):
    """A job in a list."""

    id: Id
    kind: Literal["evaluation", "training"]
    name: str
    agent: str
    """The slug of the agent that plays; of a training, of the agent that it creates."""
    owner: str | None
    mine: bool
    state: JobState
    reason: str
    """Why it failed, or why its budget or a restore stopped it."""
    visibility: Visibility
    seq: int
    episodes_total: int
    episodes_done: int
    created: datetime
    started: datetime | None
    ended: datetime | None
    url: str


class JobPage(Answer):
    """Jobs, the newest first."""

    items: list[JobSummary]
    next: str | None = None


class Job(JobSummary):
    """A job, with its request and how far it is."""

    spec: dict[str, Any]
    set_up: dict[str, Any] | None
    """The prompt and the sampling of an endpoint agent when the job was submitted."""
    parent: Id | None
    """The training that was forked or is evaluated, if you may see it."""
    parent_update: int
    turns_done: int
    seconds_busy: float
    seconds_elapsed: float
    seconds_left: float | None
    """An estimate; null if it has ended or nothing is known yet."""
    jobs_ahead: int | None
    """The jobs that are served before it while it is queued."""
    may_change: bool
    score: Score | None
    """Of an evaluation: the results so far."""
    books: Books | None = None
    """Of an evaluation: what its requests used so far."""


class Results(Answer):
    """The results of an evaluation, together and by environment."""

    total: Score
    environments: list[Score]
    passes: dict[str, dict[str, float]]
    """With several tries at each seed, after the job has ended: pass@k by environment and k."""
    cost: float | None
    """The cost of all requests at the agent's prices."""
    books: Books | None = None
    """What all requests used."""
    books_by_agent: dict[str, Books] = {}
    """The same by agent: the `agent`, and its `opponent` if that sends requests."""


class JobEpisode(Answer):
    """A finished episode of an evaluation."""

    id: Id
    slot: int
    env_id: str
    seed: int
    outcome: Outcome
    reached: float
    """The return of the evaluated agent."""
    turn_count: int


class JobEpisodePage(Answer):
    """Finished episodes of an evaluation, in the order of their seeds."""

    items: list[JobEpisode]
    next: str | None = None


class LogLine(Answer):
    """A line of the log of a job."""

    seq: int
    kind: str
    text: str
    at: datetime


class RankedStart(Body):
    """Which ranked seed to play."""

    env_id: str = ""
    """Only one of this environment; empty for any."""


class LogPage(Answer):
    """Lines of the log of a job, in their order."""

    items: list[LogLine]
    next: str | None = None


# ---------------------------------------------------------------- trainings


class NewTraining(Body):
    """A training to submit: a recipe, or a specification, or a recipe with some settings changed."""

    recipe: str = ""
    spec: dict[str, Any] = {}
    """Settings of a `gem.training.TrainingSpec`, which come before those of the recipe."""
    name: Annotated[str, Field(max_length=120)] = ""
    visibility: Visibility | None = None
    evaluate_best: bool = False
    """Submit the best checkpoint for evaluation when the training is done."""
    parent: Id | None = None
    """A training to fork."""
    parent_update: Annotated[int, Field(ge=0)] | None = None
    """The update of the checkpoint to fork; the newest if it is left out."""


class Extension(Body):
    """How many more updates a training gets."""

    updates: Annotated[int, Field(ge=1, le=10**9)]


class Training(Job):
    """A training, with its last update."""

    updates: int
    updates_done: int
    last: dict[str, float | None] | None
    """The metrics of the last update."""
    best_update: int | None
    """The update of the best checkpoint."""
    evaluations: list[Id]
    """The evaluations of its checkpoints."""


class Metrics(Answer):
    """The points of all curves after an update, as columns of equal length."""

    last: int
    """The update of the last point: ask for those after it next."""
    over: bool
    columns: dict[str, list[float | None]]


class Checkpoint(Answer):
    """The policy after an update, which is an agent."""

    update: int
    agent: str
    success: float | None
    """The share of episodes solved in that update."""
    size: int | None
    sha256: str | None
    created: datetime


class CheckpointPage(Answer):
    """The checkpoints of a training, in their order."""

    items: list[Checkpoint]
    next: str | None = None


# ---------------------------------------------------------------- benchmarks


class BenchmarkEntry(Answer):
    """One environment of a benchmark, and the scale that normalizes its returns."""

    env_id: str
    first_seed: int
    episodes: int
    random_return: float
    """The mean return of the random agent, which is 0 on the scale."""
    best_return: float
    """The best possible return, which is 1 on the scale."""


class Benchmark(Answer):
    """A versioned list of environments, seeds and rules."""

    name: str
    version: int
    title: str
    summary: str
    entries: list[BenchmarkEntry]
    url: str


class BenchmarkPage(Answer):
    """All benchmarks."""

    items: list[Benchmark]
    next: str | None = None


class Row(Answer):
    """A row of the leaderboard: the newest score of an agent."""

    id: int
    rank: str
    """`3`, or `2–4` where intervals overlap."""
    best_rank: int
    worst_rank: int
    agent: str
    agent_name: str
    owner: str | None
    env_id: str
    """Empty for the whole benchmark."""
    tools: str
    """The tools of the job and their budget, in words; empty without tools."""
    score: float
    """Normalized: 0 is the random agent, 1 the best possible."""
    low: float
    high: float
    mean_return: float
    success_rate: float
    episodes: int
    errors: int
    tokens_per_episode: float | None
    job: Id
    created: datetime


class Leaderboard(Answer):
    """The ranking of a benchmark, overall or on one environment."""

    benchmark: str
    version: int
    env_id: str
    items: list[Row]
