"""Comparisons of a person with the ranked agents on the same ranked seeds.

A person's first episode on each seed counts when it is over, if they played it alone (`Try.why_not` gives the reason
otherwise). Like agents, people cannot choose which episodes count: an abandoned episode counts with its return so far.
Episodes are compared by return, as in the ranking, and a tie counts as half a win.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from apps.episodes.models import Episode, Seat
from apps.leaderboard.models import Score
from gem.evaluation.comparison import sign_flips
from gem.evaluation.comparison.differences import LEVEL
from gem.evaluation.scores import Interval, wilson

HALF = 0.5
SAME_RETURN = 1e-9
"""Returns that differ by less are equal, because sums of the same rewards may differ in their last digit."""
UNFINISHED = "it is not over yet"
"""The reason of an episode that would count if it were over."""


@dataclass(frozen=True, slots=True)
class Against:
    """The numbers of agents' episodes that a person's episodes beat, tie with and lose to on the same seeds."""

    beaten: int = 0
    tied: int = 0
    lost: int = 0

    @property
    def n(self) -> int:
        """The number of compared episodes of agents."""
        return self.beaten + self.tied + self.lost

    @property
    def share(self) -> float:
        """The share that was beaten. A tie counts as half."""
        return (self.beaten + HALF * self.tied) / self.n if self.n else 0.0

    @property
    def interval(self) -> Interval:
        """The share with its 95 % interval, if every seed was compared once."""
        return wilson(self.beaten + HALF * self.tied, self.n)

    def __add__(self, other: Against) -> Against:
        return Against(self.beaten + other.beaten, self.tied + other.tied, self.lost + other.lost)


def compare(value: float, agent_returns: Iterable[float]) -> Against:
    """Compare a return with those of agents."""
    beaten = tied = lost = 0
    for agent_return in agent_returns:
        if math.isclose(value, agent_return, rel_tol=SAME_RETURN, abs_tol=SAME_RETURN):
            tied += 1
        elif value > agent_return:
            beaten += 1
        else:
            lost += 1
    return Against(beaten, tied, lost)


@dataclass(frozen=True, slots=True)
class Try:
    """A person's first episode on a ranked seed."""

    seat: Seat
    theirs: dict[int, float]
    """The returns of the ranked agents on the same seed, by agent."""

    @property
    def episode(self) -> Episode:
        """The person's episode."""
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
        """The comparison of its return with those of the agents."""
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
    """The comparison of a person with agents on the ranked seeds of a benchmark or of one of its environments."""

    tries: list[Try]
    """Their first episode on each ranked seed, the newest first."""
    scores: Sequence[Score] = field(default=(), repr=False)
    """The ranking of the agents."""

    @cached_property
    def compared(self) -> list[Try]:
        """The tries that count and whose seeds agents have played too."""
        return [person_try for person_try in self.tries if person_try.counts and person_try.theirs]

    @cached_property
    def left_out(self) -> list[Try]:
        """The tries that are over and do not count."""
        return [person_try for person_try in self.tries if not person_try.counts and person_try.episode.over]

    @cached_property
    def unfinished(self) -> list[Try]:
        """The tries that are not over and would count."""
        return [person_try for person_try in self.tries if person_try.is_unfinished]

    @cached_property
    def share(self) -> Interval | None:
        """The share of agents' episodes that are beaten, averaged over the person's episodes; None without any."""
        return wilson(math.fsum(self._shares), len(self._shares)) if self._shares else None

    @cached_property
    def _shares(self) -> list[float]:
        """The share of agents' episodes that each of the person's episodes beats."""
        return [person_try.against.share for person_try in self.compared]

    @property
    def claim(self) -> str:
        """A sentence about whether the share is above or below one half.

        It is claimed to be if the interval leaves out one half and the sign-flip test agrees: of few seeds, the
        interval alone leaves it out too often.
        """
        if self.share is None:
            return ""
        is_apart = not self.share.low <= HALF <= self.share.high
        if is_apart and sign_flips.p_value([share - HALF for share in self._shares]) < LEVEL:
            if self.share.mean > HALF:
                return "That is more than half, and unlikely to be luck."
            return "That is less than half, and unlikely to be bad luck."
        count, why = len(self.compared), " by the test of signs" if is_apart else ""
        return (
            f"Whether that is more than half is too close to call{why} with {count:,} seed{'' if count == 1 else 's'}."
        )

    @cached_property
    def by_agent(self) -> list[tuple[Score, Against]]:
        """The comparison with each ranked agent that played some of the seeds, in the order of the ranking."""
        sums: dict[int, Against] = defaultdict(Against)
        for person_try in self.compared:
            for agent, value in person_try.theirs.items():
                sums[agent] += compare(person_try.seat.total_reward, [value])
        ordered = sorted(self.scores, key=lambda score: (-score.mean, score.agent.name))
        return [(score, sums[score.agent_id]) for score in ordered if score.agent_id in sums]
