"""The events of episodes and of duels."""

from __future__ import annotations

from typing import Any, Literal

from gem.client.events.base import Event
from gem.client.schemas.base import Answer, Id, Outcome


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
    """The beginning of an episode."""

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
    """Facts that are not from the environment: the agent's `note`, its tokens, or what was `replaced` in the action."""


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
    """All episodes are over. Another agent may join later; then the duel continues."""

    event: Literal["duel.ended"] = "duel.ended"
    sides: list[SideResult]
