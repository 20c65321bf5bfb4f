"""Jobs: their submission, their state, and what remains of them; their finished episodes and their logs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from gem.client.schemas.base import Answer, Body, Id, JobState, Outcome, Visibility
from gem.client.schemas.scores import Books, Score
from gem.evaluation.spec import MAX_NUM_ENVS
from gem.evaluation.submission import FORMER_FIELDS, Priority, Submission
from gem.validation.whole import Flag, Whole


class NewEvaluation(Submission):
    """An evaluation to submit, or one for each of several agents.

    It is the document that the form shows as JSON and that `gemweb submit` reads. As in earlier versions, the fields of
    the specification may also be in a field `spec`, beside `name` and `visibility`.
    """

    @model_validator(mode="wrap")
    @classmethod
    def _name_places(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Name the places of errors as the request has them."""
        try:
            return handler(data)
        except ValidationError as error:
            if not (isinstance(data, dict) and isinstance(data.get("spec"), dict) and data.keys() <= FORMER_FIELDS):
                raise
            raise ValidationError.from_exception_data(
                "NewEvaluation", [_within_spec(one) for one in error.errors()]
            ) from error


def _within_spec(error: ErrorDetails) -> InitErrorDetails:
    loc = error["loc"] if error["loc"][:1] in {("name",), ("visibility",)} else ("spec", *error["loc"])
    kind: Any = error["type"]
    if kind == "refused":
        kind = PydanticCustomError("refused", "{sentence}", {"sentence": error["msg"]})
    return {"type": kind, "loc": loc, "input": error["input"], "ctx": error.get("ctx", {})}


class Expected(Answer):
    """A number that is not known exactly: what is expected, and about 95 % bounds."""

    low: float
    expected: float
    high: float


class Remaining(Answer):
    """The estimated remaining effort of a job that waits or runs, corrected while it runs."""

    seconds: Expected
    """From now to its end."""
    tokens: Expected
    """Of the whole job, with those that are used already."""
    cost: Expected | None
    """Of the whole job, at the agent's prices; null if it has none, or if you may not see them."""
    evidence: int
    """The episodes of this agent that it rests on."""
    unknown: list[str]
    """Environments of which nothing is known yet; they are in none of the numbers."""


class Pace(Body):
    """How much of an evaluation is played at a time. What is left out stays as it is."""

    num_envs: Annotated[Whole, Field(ge=1, le=MAX_NUM_ENVS)] | None = None
    """Episodes that each worker plays at a time."""
    max_workers: Annotated[Whole, Field(ge=0, le=1000)] | None = None
    """The most workers; 0 for as many as there are."""


class EpisodeEnd(Body):
    """How an episode counts that is cancelled while it is played."""

    counts: Flag
    """Whether it counts as not solved, with the return that it has; otherwise it is dropped, and not counted."""


class OneEnvironment(Body):
    """An environment of an evaluation."""

    env_id: Annotated[str, Field(max_length=120)]


class Retry(Body):
    """The episodes that are played again."""

    env_id: Annotated[str, Field(max_length=120)] = ""
    """Only what failed in this environment; empty for all."""


class JobStart(Answer):
    """When a queued job starts, as far as anybody can tell."""

    ahead: int
    """The queued jobs that start before it at most."""
    seconds: float | None
    """From now; null if no worker is running, or if it waits for midnight."""
    unknown: int
    """Jobs before it of which nothing is known. If there are some, `seconds` is the least that it can be."""
    waits_for_midnight: bool
    """Whether its owner has used up their CPU seconds of today, UTC."""


class JobSummary(Answer):
    """A job in a list."""

    id: Id
    kind: Literal["evaluation", "training"]
    name: str
    agent: str
    """The slug of the agent that plays; of a training, of the agent that it creates."""
    owner: str | None
    mine: bool
    tags: list[str]
    group: str
    """The same in all jobs that were submitted together; empty of one that was submitted alone."""
    priority: Priority
    """Which of its owner's jobs is served first."""
    state: JobState
    reason: str
    """Why it failed, or why its budget, its alarm or a restore stopped it."""
    visibility: Visibility
    seq: int
    episodes_total: int
    episodes_done: int
    created: datetime
    started: datetime | None
    ended: datetime | None
    url: str
    alarm_names: list[str] = []
    """Of a training: the names of the alarms that hold."""
    start: JobStart | None = None
    """When it starts; null unless it is queued."""


class JobPage(Answer):
    """Jobs, the newest first."""

    items: list[JobSummary]
    next: str | None = None


class Power(Answer):
    """The differences between two agents that the jobs of a submission can show, in shares of solved seeds."""

    first: str
    """The short name of an agent."""
    second: str | None
    """The short name of the other; null for any other agent that is about as good."""
    seeds: int
    """The planned seeds of all environments."""
    smallest_difference: float | None
    """The smallest difference that they show in 80 % of comparisons; null below ten seeds."""
    seeds_needed: int | None
    """The seeds of all environments that show the difference that was asked for, in 80 % of comparisons."""
    seeds_needed_each: int | None
    """Those of each environment."""
    deviation: float
    """The standard deviation of the seeds' differences."""
    basis: Literal["paired", "unpaired", "nothing"]
    """What is known of it: the same seeds in two earlier `jobs`, single results, or nothing, which gives the most that
    it can be."""
    evidence: int
    """The earlier seeds of two jobs, or the earlier episodes, that it rests on."""
    jobs: list[Id]


class Powers(Answer):
    """The differences that the jobs of a submission can show."""

    pairs: list[Power]
    """Every pair of the first four agents, or the only agent and another one."""


class Decision(Answer):
    """The comparison with another job that stops an evaluation as soon as it is decided (`stop_against`)."""

    against: Id | None
    """The other job, if you may know of it."""
    is_decided: bool
    seeds: int
    """The seeds behind it: those of a complete beginning of the plan that count in both jobs."""
    planned: int
    """The seeds that were planned."""
    evidence: float
    """The capital of bets against equal agents: it begins at 1 and decides at 40."""
    low: float
    """The lower end of the 95 % interval of this agent's share of solved seeds minus the other's. It holds at every
    look, as intervals of a fixed number of seeds do not."""
    high: float
    sentence: str
    """The event, in words."""


class Job(JobSummary):
    """A job, with its request and how far it is."""

    notes: str
    """Its purpose, in the words of its owner."""
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
    remaining: Remaining | None
    """Of an evaluation that waits or runs: what it will take."""
    jobs_ahead: int | None
    """The jobs that are served before it while it is queued."""
    may_change: bool
    ranked: bool = False
    """Of an evaluation: whether it counts on the leaderboard, so that nobody changes how it is played."""
    season: int | None = None
    """The number of the season of its benchmark; null if its seeds were never hidden."""
    closed: bool = False
    """Whether its seeds and episodes are hidden until its season is over. A negative seed stands for a hidden one."""
    tries: int = 0
    """The ranked evaluations of its owner with its agent in its season, also those that were cancelled or failed."""
    num_envs: int | None = None
    """Of an evaluation: episodes that each worker plays at a time now."""
    max_workers: int | None = None
    """The most workers that play it; null for as many as there are."""
    score: Score | None
    """Of an evaluation: the results so far."""
    books: Books | None = None
    """Of an evaluation: what its requests used so far."""
    decision: Decision | None = None
    """Of an evaluation that stops by a comparison: how far that is."""


class Submitted(Job):
    """The first job of a submission, with all of them."""

    jobs: list[JobSummary]
    """One job for each agent, in the order of the agents."""


class JobEpisode(Answer):
    """A finished episode of an evaluation."""

    id: Id
    slot: int
    env_id: str
    seed: int
    seat: int
    """The seat of the evaluated agent; 0 where there is one."""
    env_version: int
    data_hash: str
    """Of the data that its problem comes from; empty where there is none."""
    outcome: Outcome
    reached: float
    """The return of the evaluated agent."""
    turn_count: int
    tokens: int = 0
    """The tokens of the evaluated agent, in and out."""
    unanswered: bool = False
    """Of an episode that ended in an error: whether the agent gave no answer, and the environment did not fail."""


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
    tone: Literal["", "warn", "loss"] = ""
    """`warn` and `loss` mark what one should look at."""


class LogPage(Answer):
    """Lines of the log of a job, in their order."""

    items: list[LogLine]
    next: str | None = None
