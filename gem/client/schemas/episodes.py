"""Episodes, their turns, what a person plays, live shows of agents, and duels."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from gem.client.schemas.base import Answer, Body, Id, Outcome, Seed, Slug, Visibility
from gem.validation.whole import Flag, Whole

Control = Literal["pause", "resume", "one-turn", "stop", "pace", "lock-step", "free"]
"""Commands for agents that play live. The last two are for duels."""


class Seat(Answer):
    """A place in an episode, with the agent or person who acts from it."""

    number: int
    agent: str
    """The slug of the agent; `human` for people."""
    agent_name: str
    total_reward: float | None
    """Null while it is a secret of another seat."""
    success: bool | None
    mine: bool
    free: bool
    """Whether it waits for a person."""


class EpisodeSummary(Answer):
    """An episode in a list."""

    id: Id
    env_id: str
    env_version: int
    seed: int | None
    """Null while it would reveal what the seats hide from one another."""
    outcome: Outcome
    success: bool | None
    turn_count: int
    max_turns: int
    seats: list[Seat]
    visibility: Visibility
    created: datetime
    ended: datetime | None
    url: str
    """Its page."""


class EpisodePage(Answer):
    """Episodes, the newest first."""

    items: list[EpisodeSummary]
    next: str | None = None


class Handover(Answer):
    """A person took the seat of an agent, left it a note, or handed back."""

    seat: int
    kind: Literal["taken", "note", "returned"]
    after: int
    """The number of turns that were played before."""
    text: str
    """Of a note; empty while it is a secret of the seat."""
    read_in: int | None
    """Of a note: the turn before which the agent read it."""
    created: datetime


class Episode(EpisodeSummary):
    """The record of an episode without its turns, as the caller may see it."""

    env_kwargs: dict[str, Any]
    data_hash: str
    wrappers: list[Any]
    sealed: bool
    """Whether its seats still have secrets from one another."""
    engine_version: str
    python_version: str
    terminated: bool
    truncated: bool
    failure: str
    failed_by: str
    first_observation: str
    first_info: dict[str, Any]
    parent: Id | None
    """The episode that it was forked from, if you may see it."""
    parent_turn: int | None
    goes_on_in: Id | None
    """After an undo: the branch that continues it."""
    taken_over: bool = False
    """Whether a person took the seat of an agent for some turns (`by` in their `extra`), so that it ranks nowhere."""
    handovers: list[Handover] = []
    """When that was, and the notes that were left."""
    job: Id | None
    duel: Id | None
    seq: int
    """The number of its changes. A turn names the one that its player has seen (`expected_seq`)."""
    acting: int
    """The seat to act, or the last one that acted if the episode is over."""
    your_turn: bool
    observation: str
    """The observation that the caller reads now."""
    info: dict[str, Any]
    """The info that came with it; its `suffix` belongs to the prompt of an agent."""
    pending: bool
    """Whether an accepted turn waits for a worker, because the environment is slow."""
    place: int | None
    """The place of this turn in the queue, from 1."""
    problem: str
    """Why the last accepted turn was not played; empty if it was."""
    invitations: list[str] = []
    """The links to the free seats, for the people who play it: whoever has a link can take the seat."""


class TakenSeat(Answer):
    """The result of taking the seat in an episode that an evaluation plays."""

    episode: Episode | None
    """The live episode in which you have the seat; null until a worker has let go of it: ask again."""


class Turn(Answer):
    """One exchange of action, observation and reward, as the caller may see it."""

    turn: int
    """The number; the first is 1."""
    seat: int
    action: str | None
    """Null while it is a secret of another seat."""
    observation: str
    reward: float | None
    info: dict[str, Any]
    extra: dict[str, Any] | None
    """Facts that are not from the environment: the agent's `note`, or what was `replaced` in the action."""
    created: datetime


class TurnPage(Answer):
    """Turns of an episode, in their order."""

    items: list[Turn]
    next: str | None = None


class EpisodeRecord(Answer):
    """The whole record of an episode, from which `gem.replay` runs it again."""

    id: Id
    env_id: str
    env_version: int
    env_kwargs: dict[str, Any]
    data_hash: str
    wrappers: list[Any]
    seed: int | None
    sealed: bool
    engine_version: str
    python_version: str
    seat: int
    """The seat whose return and success count: that of the evaluated agent."""
    seats: list[dict[str, Any]]
    outcome: Outcome
    terminated: bool
    truncated: bool
    success: bool | None
    failure: str
    failed_by: str
    turn_count: int
    max_turns: int
    first_observation: str
    first_info: dict[str, Any]
    parent: Id | None
    parent_turn: int | None
    handovers: list[Handover] = []
    """When a person took the seat of an agent, and the notes that were left."""
    created: datetime
    ended: datetime | None
    turns: list[Turn] = []


class TurnResult(Answer):
    """The result of a turn."""

    episode: Episode
    turns: list[Turn]
    """The turns that were played since `expected_seq`. None yet, if a worker plays it or other seats still choose."""


class Verdict(Answer):
    """Whether a replay is identical to its record."""

    holds: bool | None
    """Null if this is not known, or not yet."""
    detail: str
    waiting: bool
    """Whether a worker has been asked and has not answered."""


class Hint(Answer):
    """The action that the expert would take now or, where there is no expert, the next step in words."""

    action: str
    """Empty if the next step is only said in words."""
    note: str
    """Why, or the next step."""


class Branch(Answer):
    """An episode in the tree of forks."""

    episode: EpisodeSummary
    parent: Id | None
    """The episode that it was forked from; null for the first of the tree."""
    fork_turn: int
    """The turns that it has from its parent."""
    shares_with: Id | None
    """The episode with which it shares most turns: it may have gone on like another branch after the fork."""
    shared_turns: int
    """How many turns these are. The next one is the first in which it did or read something else."""


class ForkTree(Answer):
    """An episode with its ancestors and all their branches that lists show you, line by line as the page draws them."""

    root: Id
    branches: list[Branch]
    left_out: int
    """Branches that are missing because a tree has at most 64."""


class Forks(Answer):
    """Branches that have begun."""

    episodes: list[EpisodeSummary]


# ---------------------------------------------------------------- requests


class NewEpisode(Body):
    """An episode that the caller plays turn by turn."""

    env_id: str
    seed: Seed | None = None
    """Drawn if it is left out."""
    visibility: Visibility | None = None
    opponent: str | None = None
    """In environments with several seats: the agent in the others, or `person` for a person with a link."""
    seat: Annotated[Whole, Field(ge=0)] | None = None
    """Your own seat; drawn if it is left out."""
    tools: list[str] = Field(default=[], max_length=20)
    """Tools of this site that may be used between actions, such as `python`."""
    max_tool_uses: Whole | None = None
    tool_format: str = ""


class NewTurn(Body):
    """An action, and the state of the episode that its player has seen."""

    action: str
    expected_seq: Annotated[Whole, Field(ge=0)]
    """The `seq` of the episode as its player has seen it. If the episode has changed since, nothing is played."""
    as_written: Flag = False
    """Send the text even if the environment cannot read it; its rules punish it."""


class Fork(Body):
    """A turn to continue from."""

    turn: Annotated[Whole, Field(ge=0)]


class Finish(Body):
    """An agent that continues an episode in a branch of its own."""

    agent: Slug = "expert"
    turn: Annotated[Whole, Field(ge=0)] | None = None
    """The turn to continue from; the last one if it is left out."""


class TakeSeat(Body):
    """A seat to take from an agent that plays live."""

    seat: Annotated[Whole, Field(ge=0, lt=100)] | None = None
    """The seat to act if it is left out."""


class NewNote(Body):
    """A note for the agent whose seat one has."""

    text: str
    """Up to 500 characters."""


class HandBack(Body):
    """The end of one's turns in the seat of an agent."""

    note: str = ""
    """A note that the agent reads before its next observation; empty for none."""


class NewForks(Body):
    """A turn that an agent continues from, in one or several branches at once."""

    turn: Annotated[Whole, Field(ge=0, lt=2**31)]
    agent: Slug
    count: Annotated[Whole, Field(ge=1, le=64)] = 1
    """The number of branches; all of them count among your live episodes."""
    pace: float | None = None
    """Seconds between two turns. If it is left out: 1 for one branch, and as fast as possible for several."""


class NewShow(Body):
    """An episode that an agent plays live."""

    env_id: str
    agent: Slug
    opponent: Slug | None = None
    """In environments with several seats: the agent in the others; the same agent if it is left out."""
    seed: Seed | None = None
    pace: float = 1.0
    """Seconds between two turns."""
    tools: list[str] = Field(default=[], max_length=20)
    max_tool_uses: Whole | None = None
    tool_format: str = ""
    visibility: Visibility | None = None


class Steering(Body):
    """A command to agents that play live."""

    do: Control
    pace: float | None = None
    """The seconds between two turns, for `pace`."""


# ---------------------------------------------------------------- duels


class NewDuel(Body):
    """Two to four episodes with the same environment and seed, side by side."""

    env_id: str
    agents: Annotated[list[Slug], Field(max_length=4)]
    """The agents that play, from left to right."""
    plays: Flag = False
    """Whether the caller plays too, on the left."""
    seed: Seed | None = None
    pace: float = 1.0
    lock_step: Flag = True
    """Whether nobody takes a turn until the others have taken as many."""
    visibility: Visibility | None = None


class NewPlayer(Body):
    """An agent that joins a duel."""

    agent: Slug


class Duel(Answer):
    """A duel with its episodes, from left to right."""

    id: Id
    seq: int
    visibility: Visibility
    episodes: list[EpisodeSummary]
    mine: bool
    created: datetime
    url: str
