"""Jobs: evaluations with their results, trainings with their curves and checkpoints; benchmarks and the leaderboard."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from gem.client.schemas.base import Answer, Body, Id, JobState, Outcome, Visibility
from gem.evaluation.spec import MAX_NUM_ENVS
from gem.evaluation.submission import FORMER_FIELDS, Priority, Submission


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


class Bounds(Answer):
    """The least and the most that a number can be."""

    low: float
    high: float


class Missing(Answer):
    """The planned episodes that are missing from results, and between which bounds the results would be with them."""

    planned: int
    counted: int
    unplayed: int
    """Episodes that were not played to their end, or not yet."""
    cut_off: int
    """The unplayed ones that were being played when the job was stopped: long episodes rather than short ones."""
    broken: int
    """Episodes that ended with an environment error."""
    unanswered: int
    """Episodes in which the agent gave no answer."""
    success_rate: Bounds
    """If all of them were lost, and if all were won."""
    mean_return: Bounds | None
    """Null if an environment with missing episodes declares no bounds of its returns."""
    env_ids: list[str]
    """The environments of which no episode counts."""


class Data(Answer):
    """The data that an environment was played on."""

    env_id: str
    name: str
    hash: str
    stands_in_for: str
    """The real data in whose place they are; empty if they are the real data."""


class Expected(Answer):
    """A number that is not known exactly: what is expected, and about 95 % bounds."""

    low: float
    expected: float
    high: float


class Remaining(Answer):
    """What a job that waits or runs will take, corrected while it runs."""

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

    num_envs: Annotated[int, Field(ge=1, le=MAX_NUM_ENVS)] | None = None
    """Episodes that each worker plays at a time."""
    max_workers: Annotated[int, Field(ge=0, le=1000)] | None = None
    """The most workers; 0 for as many as there are."""


class EpisodeEnd(Body):
    """What becomes of an episode that is cancelled while it is played."""

    counts: bool
    """Whether it counts as not solved, with the return that it has; otherwise it is dropped, and not counted."""


class OneEnvironment(Body):
    """An environment of an evaluation."""

    env_id: Annotated[str, Field(max_length=120)]


class Retry(Body):
    """What is played again."""

    env_id: Annotated[str, Field(max_length=120)] = ""
    """Only what failed in this environment; empty for all."""


class Score(Answer):
    """Results so far, of an evaluation or of one of its environments. Every seed counts as one in the intervals."""

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
    partial: bool
    """Whether planned episodes are missing."""
    missing: int
    """Their number."""
    seeds: int
    """The number of seeds behind the intervals: all tries and seats of a seed are one observation."""
    success_rate: float | None
    low: float | None
    """The lower end of the 95 % interval of the share of solved episodes; null below ten seeds."""
    high: float | None
    mean_return: float | None
    return_low: float | None
    """The lower end of the 95 % interval of the mean return."""
    return_high: float | None
    no_interval: str
    """Why there is no interval of the mean return, as a sentence; empty if there is one."""
    actions: int | None
    """The agent's actions; null where they were played before unreadable and forbidden ones were counted."""
    unreadable: int | None
    """The actions that the environment could not understand."""
    forbidden: int | None
    """The actions that the rules do not allow."""
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
    tags: list[str]
    group: str
    """The same in all jobs that were submitted together; empty of one that was submitted alone."""
    priority: Priority
    """Which of its owner's jobs is served first."""
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
    alarm_names: list[str] = []
    """Of a training: the names of the alarms that hold."""


class JobPage(Answer):
    """Jobs, the newest first."""

    items: list[JobSummary]
    next: str | None = None


class Power(Answer):
    """What the jobs of a submission can show about two agents, in shares of solved seeds."""

    first: str
    """The short name of an agent."""
    second: str | None
    """The short name of the other; null for any other agent that is about as good."""
    seeds: int
    """The planned seeds of all environments."""
    smallest_difference: float | None
    """What they show in 80 % of comparisons; null below ten seeds."""
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
    """What the jobs of a submission can show."""

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
    """What it says, in words."""


class Job(JobSummary):
    """A job, with its request and how far it is."""

    notes: str
    """What it is for, in the words of its owner."""
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


class Results(Answer):
    """The results of an evaluation, together and by environment."""

    total: Score
    environments: list[Score]
    passes: dict[str, dict[str, float]]
    """With several tries at each seed, after the job has ended: pass@k by environment and k."""
    pass_intervals: dict[str, dict[str, Bounds]]
    """The 95 % intervals of these, over seeds; those without an interval are left out."""
    missing: Missing | None
    """What is missing if the results are partial, otherwise null."""
    data: list[Data]
    """The data of each environment that has some."""
    cost: float | None
    """The cost of all requests at the agent's prices."""
    books: Books | None = None
    """What all requests used."""
    books_by_agent: dict[str, Books] = {}
    """The same by agent: the `agent`, and its `opponent` if that sends requests."""
    skipped: list[str] = []
    """Environments of which a person skipped what was left: the results are partial."""


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


class Alarm(Answer):
    """A sign in the metrics of a training that it collapsed or learns nothing."""

    name: Literal["invalid", "entropy", "kl", "flat", "return", "success"]
    metric: str
    """The metric that shows it."""
    title: str
    text: str
    """What it means."""
    advice: str
    """What to try."""
    began: int
    """The update at which it began."""
    ended: int | None
    """The first update after it; null while it holds."""
    holds: bool
    """Whether it holds in the last update."""
    value: float
    """The metric when it was last seen to be so."""
    start: float
    """The metric at the start."""


class Training(Job):
    """A training, with its last update."""

    updates: int
    updates_done: int
    last: dict[str, float | None] | None
    """The metrics of the last update."""
    best_update: int | None
    """The update of the best checkpoint; null if none is clearly better than the start."""
    best_reason: str = ""
    """Why no checkpoint is called the best; empty if one is."""
    alarms: list[Alarm] = []
    """Those that hold first."""
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
    job: Id
    created: datetime


class Leaderboard(Answer):
    """The ranking of a benchmark, overall or on one environment."""

    benchmark: str
    version: int
    env_id: str
    items: list[Row]
