"""The record of an episode: what identifies it, and every turn of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from gem.core import Info
from gem.seats import rewards


@dataclass(frozen=True, slots=True)
class Identity:
    """What determines an episode together with its actions."""

    env_id: str
    env_version: int
    seed: int
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    data_hash: str = ""
    wrappers: Sequence[Mapping[str, Any]] = ()
    """The wrappers as plain data, innermost first: `{"name": "time_limit", "max_turns": 20}`."""


@dataclass(slots=True)  # frozen ones take a microsecond more to make, and an evaluation makes millions
class TurnRecord:
    """One turn: the action, and what `step` returned. Do not change it: records are shared."""

    action: str
    observation: str
    reward: float
    info: Info
    seat: int | None = None
    """The seat that acted; None if the record does not have it."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What the agent reported besides the action: its `note` and the entries of `Decision.extra`."""


@dataclass(slots=True)
class EpisodeRecord:
    """The record of an episode."""

    index: int
    """The place of the episode in its batch."""
    identity: Identity
    first_observation: str
    first_info: Info
    turns: list[TurnRecord] = field(default_factory=list)
    terminated: bool = False
    truncated: bool = False
    success: bool | None = None
    """Whether `seat` solved the problem; None if the episode failed."""
    failure: str = ""
    """Why the episode could not be played to its end; empty if it could. Failed episodes are not counted."""
    failed_by: Literal["", "environment", "agent", "budget"] = ""
    """What failed: the environment raised an exception, or the agent could not decide. `budget` says that there was
    none left for the next request; such an episode is no result, and callers drop it."""
    cut: Literal["", "tokens", "money"] = ""
    """What ended the episode from outside, so that a re-execution does not end there: its limit of tokens or money.
    Such an episode is truncated and not solved."""
    max_turns: int = 0
    """The turn limit; 0 means none."""
    seat: int = 0
    """The seat of the agent that the episode belongs to, if there are several seats."""
    repeat: int = field(default=0, compare=False)
    """The number of this try at the seed, from 0; agents that sample at random do so anew in every try."""

    @property
    def total_reward(self) -> float:
        """The return: the sum of the rewards of `seat`."""
        return sum(rewards(turn.reward, turn.info)[self.seat] for turn in self.turns)

    @property
    def total_rewards(self) -> list[float]:
        """The return of every seat."""
        rewards_by_turn = [rewards(turn.reward, turn.info) for turn in self.turns]
        return [sum(seat_rewards) for seat_rewards in zip(*rewards_by_turn, strict=True)]

    @property
    def turn_count(self) -> int:
        """The number of turns."""
        return len(self.turns)

    @property
    def infos(self) -> list[Info]:
        """The infos of all turns, that of the reset first."""
        return [self.first_info, *(turn.info for turn in self.turns)]

    @property
    def tokens(self) -> tuple[int, int]:
        """The number of input and output tokens of all turns, as far as the agents counted them."""
        extras = [turn.extra for turn in self.turns if turn.extra]
        return sum(extra.get("tokens_in", 0) for extra in extras), sum(extra.get("tokens_out", 0) for extra in extras)

    @property
    def answer_seconds(self) -> float | None:
        """The mean time in seconds that the agent in `seat` took for an answer; None if it does not measure that."""
        extras = [turn.extra for turn in self.turns if turn.extra and turn.seat in (None, self.seat)]
        seconds = [extra["seconds"] for extra in extras if "seconds" in extra]
        return sum(seconds) / len(seconds) if seconds else None


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """An episode that was read from a file."""

    name: str
    """The id of the episode, or its place in the file, such as "line 3"."""
    agent: str
    """The agent that played it, in the seat of the record if there are several; empty if the file does not have it."""
    record: EpisodeRecord
    opponent: str = ""
    """The agent in the other seats; empty if there are none."""
    set_up: Mapping[str, Any] | None = None
    """The settings of the agent, if the file has them."""
    engine_version: str = ""
    digest: str = ""
    """The digest that the file says it has (see `gem.verification.digests`); empty if the file does not say."""
    inclusion: Mapping[str, Any] | None = None
    """The proof that it belongs to a row, as `gem.verification.digests.Inclusion` in plain data."""
