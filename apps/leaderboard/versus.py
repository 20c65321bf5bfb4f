"""A person beside the agents: what they reached on ranked seeds, and what the ranked agents did on the very same ones.

The first episode that somebody begins of a seed counts, once it is over, if they played it alone (`Try.why_not` says
why others do not). So nobody may choose which episodes count, as no agent may: giving up counts with the reward until
then. What counts is the return, by which agents are ranked, and a tie is half a win.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from apps.episodes.models import Episode, Seat
from apps.leaderboard.models import Score
from gem.evaluation.scores import Interval, wilson

HALF = 0.5
SAME_RETURN = 1e-9
"""Returns that differ by less are the same: sums of the same rewards may differ in their last digit."""
UNFINISHED = "it is not over yet"
"""The reason of an episode that would count if it were over."""


@dataclass(frozen=True, slots=True)
class Against:
    """One return beside those of agents on the same seeds: how many it beats, ties with and loses to."""

    beaten: int = 0
    tied: int = 0
    lost: int = 0

    @property
    def n(self) -> int:
        """The episodes of agents that were compared."""
        return self.beaten + self.tied + self.lost

    @property
    def share(self) -> float:
        """The share that was beaten, a tie as half of one."""
        return (self.beaten + HALF * self.tied) / self.n if self.n else 0.0

    @property
    def interval(self) -> Interval:
        """The share with its 95 % interval, if every seed was compared once."""
        return wilson(self.beaten + HALF * self.tied, self.n)

    def __add__(self, other: Against) -> Against:
        return Against(self.beaten + other.beaten, self.tied + other.tied, self.lost + other.lost)


def compare(own: float, theirs: Iterable[float]) -> Against:
    """A return beside those of agents."""
    beaten = tied = lost = 0
    for value in theirs:
        if math.isclose(own, value, rel_tol=SAME_RETURN, abs_tol=SAME_RETURN):
            tied += 1
        elif own > value:
            beaten += 1
        else:
            lost += 1
    return Against(beaten, tied, lost)


@dataclass(frozen=True, slots=True)
class Try:
    """The first episode that a person began of a ranked seed."""

    seat: Seat
    theirs: dict[int, float]
    """The returns of the ranked agents on the same seed, by agent."""

    @property
    def episode(self) -> Episode:
        """The episode itself."""
        return self.seat.episode

    @property
    def why_not(self) -> str:
        """Why it does not count, in a few words; empty if it does."""
        return why_not(self.seat)

    @property
    def is_unfinished(self) -> bool:
        """Whether it would count if it were over."""
        return self.why_not == UNFINISHED

    @property
    def counts(self) -> bool:
        """Whether it is over and was played alone."""
        return not self.why_not

    @property
    def against(self) -> Against:
        """Its return beside theirs."""
        return compare(self.seat.total_reward, self.theirs.values())


def why_not(seat: Seat) -> str:
    """Why a person's first episode of a seed does not count; `seat` is one of `human_tries.first_seats`."""
    episode = seat.episode
    reasons = {
        "it is a fork of another episode": episode.parent_id is not None,
        "it was played with tools": bool(episode.wrappers),
        "it was played with other arguments": bool(episode.env_kwargs),
        "it was part of a duel": episode.batch_id is not None,
        "a turn was taken back": episode.goes_on_in_id is not None,
        "the expert gave a hint": seat.advised,
        "you watched an agent on this seed before the end": bool(getattr(seat, "watched", False)),
        "you started another episode on this seed before the end": bool(getattr(seat, "repeated", False)),
        "it ended with an environment error": episode.status == Episode.Status.FAILED,
        UNFINISHED: not episode.over,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


@dataclass(frozen=True)
class Verdict:
    """How a person does on the ranked seeds of a benchmark, or of one of its environments."""

    tries: list[Try]
    """The first episode of each ranked seed that they began, the newest first."""
    scores: Sequence[Score] = field(default=(), repr=False)
    """The ranking that they are compared with."""

    @cached_property
    def compared(self) -> list[Try]:
        """Those that count and that agents have played too."""
        return [one for one in self.tries if one.counts and one.theirs]

    @cached_property
    def left_out(self) -> list[Try]:
        """Those that are over and do not count."""
        return [one for one in self.tries if not one.counts and one.episode.over]

    @cached_property
    def unfinished(self) -> list[Try]:
        """Those that wait for a turn and would count."""
        return [one for one in self.tries if one.is_unfinished]

    @cached_property
    def share(self) -> Interval | None:
        """The share of the agents' episodes that are beaten, every own episode counting alike; None without any."""
        shares = [one.against.share for one in self.compared]
        return wilson(math.fsum(shares), len(shares)) if shares else None

    @property
    def claim(self) -> str:
        """What the share says, no more."""
        if self.share is None:
            return ""
        if self.share.low > HALF:
            return "That is more than half, and unlikely to be luck."
        if self.share.high < HALF:
            return "That is less than half, and unlikely to be bad luck."
        count = len(self.compared)
        return f"Whether that is more than half is too close to call with {count:,} seed{'' if count == 1 else 's'}."

    @cached_property
    def by_agent(self) -> list[tuple[Score, Against]]:
        """Each ranked agent that played some of the seeds, in the ranking's order, and how it was beaten."""
        sums: dict[int, Against] = defaultdict(Against)
        for one in self.compared:
            for agent, value in one.theirs.items():
                sums[agent] += compare(one.seat.total_reward, [value])
        ordered = sorted(self.scores, key=lambda score: (-score.mean, score.agent.name))
        return [(score, sums[score.agent_id]) for score in ordered if score.agent_id in sums]
