"""The credit lens of an episode: what algorithms would credit each turn with, and what it was worth."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gem.client.schemas.base import Answer, Body, Id, Slug
from gem.validation.whole import Whole

TruthState = Literal["waiting", "done", "stopped", "failed"]
"""`waiting` also while a worker measures it; `failed` if it ended early, with what was measured until then."""


class TurnCredit(Answer):
    """The credit that each algorithm would give a turn, at one discount."""

    turn: int
    reward: float
    return_to_go: float
    reinforce: float
    rebn: float
    grpo: float | None
    """Null without other episodes of the same agent on this seed."""
    ppo: float | None
    """Null until the true advantages of all turns are measured, whose continuations give the values."""


class TrueAdvantage(Answer):
    """The true advantage of a turn, measured by forking."""

    turn: int
    mean: float
    """The mean return after the action that was taken, minus that when the agent chooses anew."""
    half_width: float | None
    """Half of the 95 % interval; null if all continuations of each kind have the same return."""
    after: float
    """The mean return after the action that was taken."""
    before: float
    """The mean return when the agent chooses anew."""
    failed: int
    """Continuations that an error ended; they do not count."""
    taken: list[tuple[int, list[tuple[int, float]]]] = []
    """Only of a single measurement: how many continuations had which rewards, each with its turn counted from this."""
    anew: list[tuple[int, list[tuple[int, float]]]] = []


class Truth(Answer):
    """A measurement of true advantages: one agent continues the episode from its turns."""

    id: Id
    episode: Id
    agent: Slug
    continuations: int
    """Of each kind and turn."""
    first: int
    last: int
    """The turns to measure."""
    state: TruthState
    detail: str
    """How far it is, as a sentence."""
    turns: list[TrueAdvantage]
    """Those that are measured so far."""


class Credit(Answer):
    """The credit of every turn of an episode, at one discount."""

    episode: Id
    agent: Slug
    discount: float
    batch: list[Id]
    """The other episodes whose turns ReBN normalizes over."""
    group: list[Id]
    """The other episodes that GRPO compares this one with."""
    turns: list[TurnCredit]
    truths: list[Truth]


class NewTruth(Body):
    """A request to measure true advantages."""

    agent: str = "random"
    """The agent that continues: the agent of the episode, `expert` or `random`."""
    continuations: Literal[16, 64, 256] = 64
    """Of each kind and turn."""
    turn: Annotated[Whole, Field(ge=1, lt=2**31)] | None = None
    """The only turn to measure; null for all."""
