"""From episodes to scores: means with their uncertainty."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gem.errors import InvalidArgument

RESAMPLE_UP_TO = 1000
"""More values than this are not resampled one by one: see `interval`."""


class Interval(NamedTuple):
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float


def interval(values: Sequence[float], *, seed: int = 0, samples: int = 2000) -> Interval:
    """The mean of `values` and its 95 % bootstrap interval (percentiles), the same for the same arguments.

    Up to 1,000 values are resampled `samples` times. Above that the percentiles of the bootstrap distribution are
    computed from its first three moments (the Edgeworth expansion; Hall, The Bootstrap and Edgeworth Expansion,
    1992): at that size the two differ by less than one run of resampling differs from the next, and 10,000 values
    take milliseconds.

    Raises:
        InvalidArgument: if there are no values.
    """
    n = len(values)
    if n == 0:
        raise InvalidArgument("An interval needs at least one value.")
    mean = math.fsum(values) / n
    if min(values) == max(values):
        return Interval(mean, mean, mean)
    if n > RESAMPLE_UP_TO:
        return Interval(mean, _edgeworth(values, mean, -Z95), _edgeworth(values, mean, Z95))
    draw = random.Random(seed).random
    places = range(n)
    means = sorted(sum([values[int(draw() * n)] for _ in places]) / n for _ in range(samples))
    return Interval(mean, _quantile(means, 0.025), _quantile(means, 0.975))


def wilson(successes: float, n: int) -> Interval:
    """The share of successes with Wilson's 95 % interval (E. B. Wilson, 1927), which stays within 0 and 1.

    A success may count in part, such as a tie for half: then the interval is rather too wide than too narrow, because
    shares between 0 and 1 vary less than all or nothing.

    Raises:
        InvalidArgument: if there are no episodes.
    """
    if n < 1:
        raise InvalidArgument("A share needs at least one episode.")
    share = successes / n
    scale = 1 + Z95**2 / n
    centre = (share + Z95**2 / (2 * n)) / scale
    half = Z95 * math.sqrt(share * (1 - share) / n + Z95**2 / (4 * n * n)) / scale
    return Interval(share, max(0.0, centre - half), min(1.0, centre + half))


def paired_difference(first_only: int, second_only: int, n: int) -> Interval:
    """How much more often the first of two agents succeeds on the same `n` seeds, with its 95 % interval, from -1 to 1.

    `first_only` and `second_only` count the seeds on which one of them alone succeeds. The interval adds half a seed
    to each of the four counts (A. Agresti and Y. Min, Simple improved confidence intervals for comparing matched
    proportions, 2005), so that it has a width even where all seeds agree.

    Raises:
        InvalidArgument: if there are no seeds, or more successes than seeds.
    """
    if n < 1 or first_only + second_only > n:
        raise InvalidArgument(f"{first_only} and {second_only} seeds do not fit into {n}.")
    first, second, seeds = first_only + 0.5, second_only + 0.5, n + 2
    centre = (first - second) / seeds
    half = Z95 * math.sqrt(first + second - (first - second) ** 2 / seeds) / seeds
    return Interval((first_only - second_only) / n, max(-1.0, centre - half), min(1.0, centre + half))


def pool(intervals: Sequence[Interval]) -> Interval:
    """The mean over environments, each counting alike.

    Their episodes are independent, so the distances of the interval's ends from the mean add up in squares.
    """
    count = len(intervals)
    mean = math.fsum(one.mean for one in intervals) / count
    below = math.sqrt(math.fsum((one.mean - one.low) ** 2 for one in intervals)) / count
    above = math.sqrt(math.fsum((one.high - one.mean) ** 2 for one in intervals)) / count
    return Interval(mean, mean - below, mean + above)


def pass_at(k: int, n: int, successes: int) -> float:
    """The chance that at least one of `k` tries at a problem succeeds, estimated from `n` of them without bias.

    That is 1 - C(n - successes, k) / C(n, k) (M. Chen et al., Evaluating Large Language Models Trained on Code, 2021).

    Raises:
        InvalidArgument: if there are fewer than `k` tries.
    """
    if not 1 <= k <= n:
        raise InvalidArgument(f"pass@{k} needs at least {max(k, 1)} tries at a problem; there are {n}.")
    return 1.0 - math.comb(n - successes, k) / math.comb(n, k)


class Outcome(NamedTuple):
    """What counts of an episode in a summary."""

    place: int
    """Its place in the batch, which orders a summary."""
    total_reward: float
    success: bool
    turns: int
    failed: bool
    """The environment broke: the episode is counted, and nothing else of it."""
    unanswered: bool = False
    """The agent gave no answer: likewise."""
    problem: tuple[int, int] = (0, 0)
    """Seed and seat: episodes that share them are tries at the same problem."""
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class Summary:
    """What an agent reached in one environment; without episodes that count there are no intervals."""

    n: int
    """Episodes that count."""
    failed: int
    """Episodes in which the environment broke."""
    returns: tuple[float, ...]
    mean_return: Interval | None
    success: Interval | None
    mean_turns: float | None
    unanswered: int = 0
    """Episodes in which the agent gave no answer."""
    tokens_in: int = 0
    tokens_out: int = 0
    """Of all episodes, those that do not count included: they were spent."""
    passes: Mapping[int, Interval] = field(default_factory=dict)
    """Where every problem was tried `n` times: pass@k for 1, 2, 4 ... and `n`, with intervals over problems."""


def summarize(outcomes: Iterable[Outcome]) -> Summary:
    """The summary of some episodes, the same in whatever order they ended."""
    rows = sorted(outcomes)
    counted = [row for row in rows if not (row.failed or row.unanswered)]
    n = len(counted)
    returns = tuple(row.total_reward for row in counted)
    return Summary(
        n=n,
        failed=sum(row.failed for row in rows),
        returns=returns,
        mean_return=interval(returns) if n else None,
        success=wilson(sum(row.success for row in counted), n) if n else None,
        mean_turns=sum(row.turns for row in counted) / n if n else None,
        unanswered=sum(row.unanswered for row in rows),
        tokens_in=sum(row.tokens_in for row in rows),
        tokens_out=sum(row.tokens_out for row in rows),
        passes=passes(counted),
    )


def passes(outcomes: Sequence[Outcome]) -> dict[int, Interval]:
    """pass@k over problems that were tried several times; empty if one was tried once.

    k is 1, 2, 4 and so on, and the number of tries that every problem has.
    """
    tries: dict[tuple[int, int], list[bool]] = {}
    for outcome in outcomes:
        tries.setdefault(outcome.problem, []).append(outcome.success)
    least = min((len(each) for each in tries.values()), default=0)
    if least < 2:
        return {}
    ks = sorted({*(2**power for power in range(least.bit_length())), least})
    return {k: interval([pass_at(k, len(each), sum(each)) for each in tries.values()]) for k in ks}


Z95 = 1.959963984540054
"""The standard normal's 97.5th percentile."""


def _edgeworth(values: Sequence[float], mean: float, z: float) -> float:
    """The value that the resampled mean stays below as often as a standard normal stays below `z`."""
    n = len(values)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / n)
    skewness = math.fsum((value - mean) ** 3 for value in values) / n / deviation**3
    error = deviation / math.sqrt(n)
    return mean + error * (z + skewness * (z * z - 1) / (6 * math.sqrt(n)))


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The quantile of sorted values, linear between neighbours."""
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""97.5th percentiles of Student's distribution with 1, 2, 3 ... degrees of freedom."""


def student(values: Sequence[float]) -> Interval:
    """The mean of a few values and its 95 % interval by Student's distribution.

    Raises:
        InvalidArgument: if there are fewer than two.
    """
    n = len(values)
    if n < 2:
        raise InvalidArgument("An interval over seeds needs at least two.")
    mean = math.fsum(values) / n
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    quantile = STUDENT[n - 2] if n - 2 < len(STUDENT) else 1.96
    half = quantile * deviation / math.sqrt(n)
    return Interval(mean, mean - half, mean + half)
