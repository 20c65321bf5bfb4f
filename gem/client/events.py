"""The events that streams, clients and webhooks share: their names and fields, which stay as they are.

`EVENTS` is the table. A later version may add fields, which clients ignore, and events, which `parse` returns as
`UnknownEvent`; it does not rename or remove any. An event is one change of an episode, a duel, a job or a training.
Its `seq` is the number of that change: it grows within a stream, and may have gaps where a change shows nothing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from gem.client.schemas.base import Answer, Id, JobState, Outcome


class Event(Answer):
    """What all events have."""

    event: str
    """The name of the event."""
    seq: int
    """The number of the change, which is the `id` of the event in a stream: a reader continues after it."""
    at: datetime | None = None
    """When it happened; null if that is not known."""


class UnknownEvent(Event):
    """An event of a later version, with the fields that all events have."""


class SeatOfEvent(Answer):
    """A place in an episode, with the agent or person who acts from it."""

    number: int
    agent: str
    """The slug of the agent; `human` for people."""
    agent_name: str


class Result(Answer):
    """How an episode ended."""

    outcome: Outcome
    success: bool | None
    """Whether the problem was solved; null if the episode was not played to its end."""
    terminated: bool
    truncated: bool
    total_reward: float | None
    """The return: the sum of the rewards of the seat that counts. Null while it is a secret of another seat."""
    turn_count: int
    failure: str = ""
    """The error that ended it; empty if there was none."""
    failed_by: str = ""
    """Whose failure it was: `environment` or `agent`; empty if there was none."""


class Started(Answer):
    """What an episode begins with."""

    env_id: str
    env_version: int
    seed: int | None
    """Null while it would reveal what the seats hide from one another."""
    max_turns: int
    seats: list[SeatOfEvent]
    observation: str
    """The first observation, as the reader may see it."""
    info: dict[str, Any]


class Played(Answer):
    """One exchange of action, observation and reward, as the reader may see it."""

    turn: int
    """The number; the first is 1."""
    seat: int
    action: str | None
    """Null while it is a secret of another seat."""
    observation: str
    reward: float | None
    """Null while it is a secret of another seat."""
    terminated: bool
    """Whether the environment ended the episode with this turn."""
    truncated: bool
    """Whether the turn limit ended the episode with this turn."""
    info: dict[str, Any]
    extra: dict[str, Any] | None
    """What is not from the environment: the agent's `note`, its tokens, or what was `replaced` in the action."""


class EpisodeEvent(Event):
    """An event of an episode."""

    episode: Id


class EpisodeStarted(EpisodeEvent, Started):
    """The environment was reset."""

    event: Literal["episode.started"] = "episode.started"


class EpisodeTurn(EpisodeEvent, Played):
    """A turn was played."""

    event: Literal["episode.turn"] = "episode.turn"


class EpisodeEnded(EpisodeEvent, Result):
    """The episode is over. What its seats hid from one another is in the turns from now on."""

    event: Literal["episode.ended"] = "episode.ended"
    seed: int | None
    total_rewards: list[float | None]
    """The return of every seat."""
    goes_on_in: Id | None
    """After an undo: the episode that continues without the undone turns."""


class DuelEvent(Event):
    """An event of a duel."""

    duel: Id


class DuelStarted(DuelEvent):
    """The duel was begun. Its episodes follow as `duel.joined`."""

    event: Literal["duel.started"] = "duel.started"
    env_id: str
    seed: int


class DuelSideEvent(DuelEvent):
    """An event of one of the episodes of a duel."""

    episode: Id
    slot: int
    """The place of the episode from left to right, from 0."""


class DuelJoined(DuelSideEvent, Started):
    """An episode of the duel began."""

    event: Literal["duel.joined"] = "duel.joined"


class DuelTurn(DuelSideEvent, Played):
    """A turn was played in one of the episodes."""

    event: Literal["duel.turn"] = "duel.turn"


class DuelEpisodeEnded(DuelSideEvent, Result):
    """One of the episodes is over."""

    event: Literal["duel.episode_ended"] = "duel.episode_ended"


class SideResult(Result):
    """The result of one episode of a duel."""

    episode: Id
    slot: int


class DuelEnded(DuelEvent):
    """All episodes are over. Another agent may join later; then the duel goes on."""

    event: Literal["duel.ended"] = "duel.ended"
    sides: list[SideResult]


class LogEvent(Event):
    """An event of a job or a training. Each is a line of its log."""

    text: str
    """The line, for people."""
    tone: Literal["", "warn", "loss"] = ""
    """`warn` and `loss` mark what one should look at."""


class Queued(Answer):
    """A job was submitted."""

    env_ids: list[str]
    agent: str
    """The slug of the agent that plays, or that a training creates."""
    episodes_total: int


class Reasoned(Answer):
    """What happened to a shard, and why."""

    reason: str = ""
    """Why; empty if nobody needs to know."""


class JobEvent(LogEvent):
    """An event of an evaluation."""

    job: Id


class JobQueued(JobEvent, Queued):
    """The evaluation was submitted."""

    event: Literal["job.queued"] = "job.queued"


class JobStarted(JobEvent):
    """A worker began to play a shard; with the first one, the evaluation runs."""

    event: Literal["job.shard_started"] = "job.shard_started"
    shard: int | None = None
    """The number of the shard, from 1. This and the fields below are null in events of older versions of this site."""
    env_id: str | None = None
    episodes: int | None = None
    """The episodes that are left in the shard."""
    attempt: int | None = None


class FinishedEpisode(Answer):
    """An episode that an evaluation has finished."""

    id: Id
    slot: int
    env_id: str
    seed: int
    outcome: Outcome
    total_reward: float
    """The return of the evaluated agent."""
    turn_count: int
    failure: str = ""


class JobEpisodes(JobEvent):
    """Episodes were finished; they are recorded together."""

    event: Literal["job.episodes"] = "job.episodes"
    episodes: list[FinishedEpisode]
    done: int | None = None
    """The episodes of the evaluation that are finished; null in events of older versions of this site."""
    total: int | None = None
    """The episodes of the evaluation."""


class JobShardRequeued(JobEvent, Reasoned):
    """A shard went back to the queue, and is played on later. Its finished episodes are kept."""

    event: Literal["job.shard_requeued"] = "job.shard_requeued"
    shard: int | None = None


class JobPaused(JobEvent, Reasoned):
    """The evaluation was paused."""

    event: Literal["job.paused"] = "job.paused"


class JobResumed(JobEvent):
    """The evaluation goes on after a pause."""

    event: Literal["job.resumed"] = "job.resumed"


class JobNoted(JobEvent):
    """Any other line of the log."""

    event: Literal["job.log"] = "job.log"


class JobResult(Answer):
    """Sums over the episodes of an evaluation."""

    done: int
    counted: int
    """Episodes that count: without environment errors and unanswered episodes."""
    won: int
    limited: int
    errors: int
    unanswered: int
    """The errors in which the agent gave no answer."""
    mean_return: float | None
    tokens_in: int
    tokens_out: int
    tokens_estimated: int = 0
    """The part of the tokens that no server has counted."""


class JobEnded(JobEvent, Reasoned):
    """The evaluation is over."""

    event: Literal["job.ended"] = "job.ended"
    state: JobState | None = None
    """`done`, `stopped`, `cancelled` or `failed`; null in events of older versions of this site."""
    result: JobResult | None = None


class TrainingEvent(LogEvent):
    """An event of a training."""

    training: Id


class TrainingQueued(TrainingEvent, Queued):
    """The training was submitted."""

    event: Literal["training.queued"] = "training.queued"
    updates: int


class TrainingStarted(TrainingEvent):
    """A worker began to train, or goes on."""

    event: Literal["training.started"] = "training.started"
    attempt: int | None = None


class TrainingUpdates(TrainingEvent):
    """Updates were made. One that is made again after a restart is reported again."""

    event: Literal["training.updates"] = "training.updates"
    points: list[dict[str, float | None]]
    """The metrics of each update by name, `update` among them."""


class TrainingSamples(TrainingEvent):
    """Episodes of an update were kept to be looked at."""

    event: Literal["training.samples"] = "training.samples"
    update: int
    exam: bool
    """Whether they were played with a checkpoint on fixed seeds. Nothing is learned from these."""
    episodes: list[Id]


class TrainingCheckpoint(TrainingEvent):
    """The policy was saved: it is an agent."""

    event: Literal["training.checkpoint"] = "training.checkpoint"
    update: int
    agent: str
    """The slug of the agent."""


class TrainingRequeued(TrainingEvent, Reasoned):
    """The training went back to the queue, and goes on later from its last checkpoint."""

    event: Literal["training.requeued"] = "training.requeued"


class TrainingPaused(TrainingEvent, Reasoned):
    """The training was paused."""

    event: Literal["training.paused"] = "training.paused"


class TrainingResumed(TrainingEvent):
    """The training was resumed or extended, and waits for a worker."""

    event: Literal["training.resumed"] = "training.resumed"


class TrainingNoted(TrainingEvent):
    """Any other line of the log."""

    event: Literal["training.log"] = "training.log"


class TrainingEnded(TrainingEvent, Reasoned):
    """The training is over. It can be resumed or extended; then it goes on."""

    event: Literal["training.ended"] = "training.ended"
    state: JobState | None = None
    """`done`, `cancelled` or `failed`; null in events of older versions of this site."""
    update: int | None = None
    """The last update."""
    success: float | None = None
    """The share of its episodes that were solved."""


_ALL: tuple[type[Event], ...] = (
    EpisodeStarted, EpisodeTurn, EpisodeEnded,
    DuelStarted, DuelJoined, DuelTurn, DuelEpisodeEnded, DuelEnded,
    JobQueued, JobStarted, JobEpisodes, JobShardRequeued, JobPaused, JobResumed, JobNoted, JobEnded,
    TrainingQueued, TrainingStarted, TrainingUpdates, TrainingSamples, TrainingCheckpoint, TrainingRequeued,
    TrainingPaused, TrainingResumed, TrainingNoted, TrainingEnded,
)  # fmt: skip
EVENTS: dict[str, type[Event]] = {model.model_fields["event"].default: model for model in _ALL}
"""Every event by its name."""
ENDINGS = frozenset(name for name in EVENTS if name.endswith(".ended"))
"""The events after which a stream has nothing more to say, unless what has ended goes on."""


def parse(data: str | bytes) -> Event:
    """The event in a message of a stream.

    Raises:
        pydantic.ValidationError: if it is none.
    """
    event = Event.model_validate_json(data)
    return EVENTS.get(event.event, UnknownEvent).model_validate_json(data)
