"""The events that streams, clients and webhooks share: their names and fields, which stay as they are.

`EVENTS` is the table. A later version may add fields, which clients ignore, and events, which `parse` returns as
`UnknownEvent`; it does not rename or remove any. An event is one change of an episode, a duel, a job or a training.
Its `seq` is the number of that change: it grows within a stream, and may have gaps where a change shows nothing.
"""

from __future__ import annotations

from gem.client.events.base import Event, LogEvent, Queued, Reasoned, UnknownEvent
from gem.client.events.episodes import (
    DuelEnded,
    DuelEpisodeEnded,
    DuelEvent,
    DuelJoined,
    DuelSideEvent,
    DuelStarted,
    DuelTurn,
    EpisodeEnded,
    EpisodeEvent,
    EpisodeStarted,
    EpisodeTurn,
    Played,
    Result,
    SeatOfEvent,
    SideResult,
    Started,
)
from gem.client.events.jobs import (
    FinishedEpisode,
    JobEnded,
    JobEpisodes,
    JobEvent,
    JobNoted,
    JobPaused,
    JobQueued,
    JobResult,
    JobResumed,
    JobShardRequeued,
    JobStarted,
)
from gem.client.events.trainings import (
    TrainingAlarm,
    TrainingCheckpoint,
    TrainingEnded,
    TrainingEvent,
    TrainingNoted,
    TrainingPaused,
    TrainingQueued,
    TrainingRequeued,
    TrainingResumed,
    TrainingSamples,
    TrainingStarted,
    TrainingUpdates,
)
from gem.client.events.webhooks import WebhookTest

__all__ = [
    "ENDINGS",
    "EVENTS",
    "DuelEnded",
    "DuelEpisodeEnded",
    "DuelEvent",
    "DuelJoined",
    "DuelSideEvent",
    "DuelStarted",
    "DuelTurn",
    "EpisodeEnded",
    "EpisodeEvent",
    "EpisodeStarted",
    "EpisodeTurn",
    "Event",
    "FinishedEpisode",
    "JobEnded",
    "JobEpisodes",
    "JobEvent",
    "JobNoted",
    "JobPaused",
    "JobQueued",
    "JobResult",
    "JobResumed",
    "JobShardRequeued",
    "JobStarted",
    "LogEvent",
    "Played",
    "Queued",
    "Reasoned",
    "Result",
    "SeatOfEvent",
    "SideResult",
    "Started",
    "TrainingAlarm",
    "TrainingCheckpoint",
    "TrainingEnded",
    "TrainingEvent",
    "TrainingNoted",
    "TrainingPaused",
    "TrainingQueued",
    "TrainingRequeued",
    "TrainingResumed",
    "TrainingSamples",
    "TrainingStarted",
    "TrainingUpdates",
    "UnknownEvent",
    "WebhookTest",
    "parse",
]

_ALL: tuple[type[Event], ...] = (
    EpisodeStarted, EpisodeTurn, EpisodeEnded,
    DuelStarted, DuelJoined, DuelTurn, DuelEpisodeEnded, DuelEnded,
    JobQueued, JobStarted, JobEpisodes, JobShardRequeued, JobPaused, JobResumed, JobNoted, JobEnded,
    TrainingQueued, TrainingStarted, TrainingUpdates, TrainingSamples, TrainingCheckpoint, TrainingAlarm,
    TrainingRequeued, TrainingPaused, TrainingResumed, TrainingNoted, TrainingEnded,
    WebhookTest,
)  # fmt: skip
EVENTS: dict[str, type[Event]] = {model.model_fields["event"].default: model for model in _ALL}
"""Every event by its name."""
ENDINGS = frozenset(name for name in EVENTS if name.endswith(".ended"))
"""The events after which a stream ends, unless its subject continues later."""


def parse(data: str | bytes) -> Event:
    """The event in a message of a stream.

    Raises:
        pydantic.ValidationError: if it is none.
    """
    event = Event.model_validate_json(data)
    return EVENTS.get(event.event, UnknownEvent).model_validate_json(data)
