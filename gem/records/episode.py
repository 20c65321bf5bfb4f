"""An episode as a record: what it follows from, and every turn of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from gem.core import Info
from gem.seats import rewards


@dataclass(frozen=True, slots=True)
class Identity:
    """What, together with the actions, an episode follows from."""

    env_id: str
    env_version: int
    seed: int
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    data_hash: str = ""
    wrappers: Sequence[Mapping[str, Any]] = ()
    """Plain data, innermost first: `{"name": "time_limit", "max_turns": 20}`."""


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One exchange: the action taken and what the environment answered."""

    action: str
    observation: str
    reward: float
    info: Info
    seat: int | None = None
    """Who acted; None where the record does not say."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What the agent gave besides the action: its `note`, and what is in `Decision.extra`."""


@dataclass(slots=True)
class EpisodeRecord:
    """One run of an environment from reset to its end."""

    index: int
    """Its place in the batch."""
    identity: Identity
    first_observation: str
    first_info: Info
    turns: list[TurnRecord] = field(default_factory=list)
    terminated: bool = False
    truncated: bool = False
    success: bool | None = None
    """Whether it was one for `seat`; None if the environment failed."""
    failure: str = ""
    """Why it broke off, empty if it did not: the episode is not counted."""
    failed_by: Literal["", "environment", "agent"] = ""
    """Whose failure it was: the environment raised something, or the agent's server gave no answer."""
    max_turns: int = 0
    seat: int = 0
    """Where the agent sat whose episode it is, if there were several seats."""

    @property
    def total_reward(self) -> float:
        """The return: the sum of the rewards of `seat`."""
        return sum(rewards(turn.reward, turn.info)[self.seat] for turn in self.turns)

    @property
    def total_rewards(self) -> list[float]:
        """The return of every seat."""
        earned = [rewards(turn.reward, turn.info) for turn in self.turns]
        return [sum(column) for column in zip(*earned, strict=True)]

    @property
    def turn_count(self) -> int:
        """How many turns were taken."""
        return len(self.turns)

    @property
    def infos(self) -> list[Info]:
        """All infos, that of the reset first."""
        return [self.first_info, *(turn.info for turn in self.turns)]

    @property
    def tokens(self) -> tuple[int, int]:
        """How many tokens went in and came out, as far as the agents counted them."""
        extras = [turn.extra for turn in self.turns if turn.extra]
        return sum(one.get("tokens_in", 0) for one in extras), sum(one.get("tokens_out", 0) for one in extras)


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """An episode from a file."""

    name: str
    """Its id, or its place in the file: "line 3"."""
    agent: str
    """Who played it, empty if the file does not say; where there were several seats, whose episode it is."""
    record: EpisodeRecord
    opponent: str = ""
    """Who sat in the other seats, empty if nobody else did."""
