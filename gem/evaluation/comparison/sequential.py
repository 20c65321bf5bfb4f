"""Stopping as soon as a comparison is decided, without more false alarms for looking often.

A confidence sequence is an interval after every seed such that, in 95 % of comparisons, all of them hold. It is made of
bets. Whoever claims that the mean difference is at most `m` is offered, on every seed, a fair bet that the next
difference is larger. If the claim is true, the capital of the one who bets seldom grows: by J. Ville's inequality
(1939), it reaches 40 times its beginning in at most one of 40 sequences. The bets are constant fractions of the
capital, and the capital is the mean over several fractions (H. Robbins, Statistical methods related to the law of the
iterated logarithm, 1970; I. Waudby-Smith and A. Ramdas, Estimating means of bounded random variables by betting, 2024).

Two rules make it valid. Differences are bounded: those of solved shares are, and those of returns whose bounds are
known, divided by the distance of the bounds. And looks are taken at complete prefixes of the planned order
(`complete_prefix`), because otherwise the short episodes, which end first, would decide.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, TypeVar

from gem.errors import InvalidArgument
from gem.evaluation.comparison.differences import LEVEL
from gem.evaluation.comparison.pairs import SeedPair

T = TypeVar("T")
Place = tuple[str, int]
"""An environment and a seed."""
ENOUGH = 2 / LEVEL
"""The capital that decides; each of the two sides may be wrong in half of the 5 %."""
MAX_FRACTION = 0.9
"""The largest bet, as a fraction of what a single loss would cost all capital."""
UNPLANNED_FRACTIONS = tuple(2.0**-power for power in range(1, 9))
PLANNED_POWERS = (-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0)
"""The bets around the planned one, in powers of 2."""


class Bet(NamedTuple):
    """A part of the capital, and the fraction of it that is bet on every seed."""

    fraction: float
    weight: float


def bets(planned_difference: float | None = None, deviation: float = 1.0) -> list[Bet]:
    """Return the bets of a test; every choice is valid, and a good one decides sooner.

    Args:
        planned_difference: the difference that the number of seeds was planned for, between 0 and 1. The bets then win
            most if the agents differ by twice as much, when stopping early saves most. None if nothing was planned.
        deviation: the expected standard deviation of the differences.

    Raises:
        InvalidArgument: if the difference or the deviation is out of range.
    """
    if planned_difference is None:
        return [Bet(fraction, 1 / len(UNPLANNED_FRACTIONS)) for fraction in UNPLANNED_FRACTIONS]
    if not 0 < planned_difference <= 1 or deviation <= 0:
        raise InvalidArgument("The planned difference must be between 0 and 1, and the deviation positive.")
    best = 2 * planned_difference / deviation**2
    weights = [math.exp(-(power**2) / 2) for power in PLANNED_POWERS]
    fractions = [min(MAX_FRACTION, best * 2.0**power) for power in PLANNED_POWERS]
    return [Bet(fraction, weight / sum(weights)) for fraction, weight in zip(fractions, weights, strict=True)]


class BettingTest:
    """The bets on the differences of two agents, seed by seed.

    With several environments, the seeds of a round (one of each environment) are all added before a look is taken. Then
    the test is about the mean over environments, however the environments differ from one another.
    """

    def __init__(self, chosen_bets: Sequence[Bet] | None = None) -> None:
        """Begin with no seeds and a capital of 1."""
        self.bets = list(bets() if chosen_bets is None else chosen_bets)
        self._counts: Counter[float] = Counter()
        self._logarithms = [[0.0] * len(self.bets), [0.0] * len(self.bets)]

    def add(self, difference: float) -> None:
        """Take the next seed of the planned order into account.

        Raises:
            InvalidArgument: if the difference is not between -1 and 1.
        """
        if not -1 <= difference <= 1:
            raise InvalidArgument(f"Only differences between -1 and 1 can be bet on, not {difference}.")
        self._counts[round(difference, 12)] += 1
        for logarithms, gain in zip(self._logarithms, (difference, -difference), strict=True):
            for place, bet in enumerate(self.bets):
                logarithms[place] += math.log1p(bet.fraction * gain)

    @property
    def seeds(self) -> int:
        """The number of seeds so far."""
        return self._counts.total()

    @property
    def evidence(self) -> float:
        """The capital against the claim that neither agent is better; it begins at 1 and decides at 40."""
        return max(map(self._mixed, self._logarithms))

    @property
    def is_decided(self) -> bool:
        """Whether one of the agents is better."""
        return self.evidence >= ENOUGH

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the mean difference; those after all seeds hold together."""
        return self._end(1), self._end(-1)

    def _end(self, sign: int) -> float:
        """Find the end of the interval on one side, the lower one for `sign` 1, by bisection."""
        refuted, kept = -float(sign), float(sign)
        for _ in range(40):
            middle = (refuted + kept) / 2
            if self._capital(middle, sign) >= ENOUGH:
                refuted = middle
            else:
                kept = middle
        return refuted

    def _capital(self, mean: float, sign: int) -> float:
        """Return the capital against the claim that the mean difference is at most `mean`; with `sign` -1, at least."""
        room = 1 + sign * mean
        gains = [(sign * (value - mean) / room, count) for value, count in self._counts.items()]
        return self._mixed([sum(n * math.log1p(bet.fraction * gain) for gain, n in gains) for bet in self.bets])

    def _mixed(self, logarithms: Sequence[float]) -> float:
        """Return the capital of all bets together."""
        parts = zip(self.bets, logarithms, strict=True)
        return math.fsum(bet.weight * math.exp(min(logarithm, 700.0)) for bet, logarithm in parts)


def seeds_until_decided(rounds: Iterable[Sequence[float]], chosen_bets: Sequence[Bet] | None = None) -> int | None:
    """Return after how many seeds a comparison was decided; None if it never was.

    Args:
        rounds: the differences in the planned order; the seeds of a round are looked at together.
    """
    test = BettingTest(chosen_bets)
    for differences in rounds:
        for difference in differences:
            test.add(difference)
        if test.is_decided:
            return test.seeds
    return None


class Look(NamedTuple):
    """The state of a comparison that is under way."""

    seeds: int
    """The number of seeds behind it: those of all complete rounds at the beginning of the plan."""
    evidence: float
    """The capital against equal agents; it decides at 40."""
    is_decided: bool
    low: float
    """The lower end of the 95 % interval of the mean difference."""
    high: float


def look(
    planned: Sequence[Place],
    finished: Collection[Place],
    pairs: Iterable[SeedPair],
    chosen_bets: Sequence[Bet] | None = None,
) -> Look:
    """Look at two runs under way; this may be done as often as one likes.

    Args:
        planned: environments and seeds in the order in which they are played; the k-th seeds of all environments are
            round k.
        finished: those whose episodes have all ended in both runs, whether they count or not.
        pairs: the seeds that count in both runs, with the share of solved episodes.
    """
    begun = complete_prefix(planned, finished)
    seeds_by_env: dict[str, list[int]] = {env_id: [] for env_id, _ in planned}
    for env_id, seed in begun:
        seeds_by_env[env_id].append(seed)
    rounds = min(map(len, seeds_by_env.values()), default=0)
    counted = {(env_id, seed) for env_id, seeds in seeds_by_env.items() for seed in seeds[:rounds]}
    test = BettingTest(chosen_bets)
    for pair in pairs:
        if (pair.env_id, pair.seed) in counted:
            test.add(pair.difference)
    return Look(test.seeds, test.evidence, test.is_decided, *test.interval)


def complete_prefix(planned: Sequence[T], finished: Collection[T]) -> Sequence[T]:
    """Return the beginning of the planned order up to the first that is not finished."""
    for place, one in enumerate(planned):
        if one not in finished:
            return planned[:place]
    return planned
