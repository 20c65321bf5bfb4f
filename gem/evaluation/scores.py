"""Scores of episodes: means, success rates and their 95 % intervals."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gem.errors import InvalidArgument

MAX_RESAMPLED_VALUES = 1000
"""Above this number of values, `interval` computes percentiles by an expansion and not by resampling."""


class Interval(NamedTuple):
    """A mean and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float


def interval(values: Sequence[float], *, seed: int = 0, samples: int = 2000) -> Interval:
    """Compute the mean of `values` and its 95 % bootstrap interval (percentiles); equal arguments give equal results.

    Up to 1,000 values are resampled `samples` times. Above that, the percentiles of the bootstrap distribution are
    computed from its first three moments (the Edgeworth expansion; Hall, The Bootstrap and Edgeworth Expansion, 1992).
    At that size the difference between the two is smaller than that between two runs of resampling, and 10,000 values
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
    if n > MAX_RESAMPLED_VALUES:
        return Interval(mean, _edgeworth(values, mean, -Z95), _edgeworth(values, mean, Z95))
    uniform = random.Random(seed).random
    indices = range(n)
    means = sorted(sum([values[int(uniform() * n)] for _ in indices]) / n for _ in range(samples))
    return Interval(mean, _quantile(means, 0.025), _quantile(means, 0.975))


def wilson(successes: float, n: int) -> Interval:
    """Compute a success rate with Wilson's 95 % interval (E. B. Wilson, 1927), which stays within 0 and 1.

    A success may be partial, such as one half for a tie. The interval is then conservative, because partial successes
    vary less than successes of 0 or 1.

    Raises:
        InvalidArgument: if there are no episodes.
    """
    if n < 1:
        raise InvalidArgument("A share needs at least one episode.")
    share = successes / n
    scale = 1 + Z95**2 / n
    centre = (share + Z95**2 / (2 * n)) / scale
    half_width = Z95 * math.sqrt(share * (1 - share) / n + Z95**2 / (4 * n * n)) / scale
    return Interval(share, max(0.0, centre - half_width), min(1.0, centre + half_width))


def paired_difference(first_only: int, second_only: int, n: int) -> Interval:
    """Compute the difference of two success rates on the same `n` seeds, the first minus the second, with an interval.

    `first_only` and `second_only` are the numbers of seeds on which only one of the two agents succeeds. The 95 %
    interval adds half a seed to each of the four counts (A. Agresti and Y. Min, Simple improved confidence intervals
    for comparing matched proportions, 2005), so that it has a width even if the agents agree on all seeds.

    Raises:
        InvalidArgument: if there are no seeds, or more successes than seeds.
    """
    if n < 1 or first_only + second_only > n:
        raise InvalidArgument(f"{first_only} and {second_only} seeds do not fit into {n}.")
    first_count, second_count, seed_count = first_only + 0.5, second_only + 0.5, n + 2
    centre = (first_count - second_count) / seed_count
    half_width = (
        Z95 * math.sqrt(first_count + second_count - (first_count - second_count) ** 2 / seed_count) / seed_count
    )
    return Interval((first_only - second_only) / n, max(-1.0, centre - half_width), min(1.0, centre + half_width))


def pool(intervals: Sequence[Interval]) -> Interval:
    """Compute the mean over environments, with equal weights.

    Their episodes are independent, so the squared distances of the ends of the intervals from the means add up.
    """
    count = len(intervals)
    mean = math.fsum(interval.mean for interval in intervals) / count
    below = math.sqrt(math.fsum((interval.mean - interval.low) ** 2 for interval in intervals)) / count
    above = math.sqrt(math.fsum((interval.high - interval.mean) ** 2 for interval in intervals)) / count
    return Interval(mean, mean - below, mean + above)


def pass_at(k: int, n: int, successes: int) -> float:
    """Estimate pass@k: the probability that at least one of `k` tries at a problem succeeds, from `n` tries.

    The unbiased estimate is 1 - C(n - successes, k) / C(n, k) (M. Chen et al., Evaluating Large Language Models Trained
    on Code, 2021).

    Raises:
        InvalidArgument: if there are fewer than `k` tries.
    """
    if not 1 <= k <= n:
        raise InvalidArgument(f"pass@{k} needs at least {max(k, 1)} tries at a problem; there are {n}.")
    return 1.0 - math.comb(n - successes, k) / math.comb(n, k)


class Outcome(NamedTuple):
    """The result of an episode, as `summarize` needs it."""

    place: int
    """The place of the episode in its batch, by which `summarize` sorts."""
    total_reward: float
    success: bool
    turns: int
    failed: bool
    """Whether the environment failed; scores do not include such episodes."""
    unanswered: bool = False
    """Whether the agent could not decide; scores do not include such episodes."""
    problem: tuple[int, int] = (0, 0)
    """Seed and seat; episodes with the same are tries at the same problem."""
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class Summary:
    """The scores of an agent in one environment; without episodes that count there are no intervals."""

    n: int
    """The number of episodes that count."""
    failed: int
    """The number of episodes in which the environment failed."""
    returns: tuple[float, ...]
    mean_return: Interval | None
    success: Interval | None
    mean_turns: float | None
    unanswered: int = 0
    """The number of episodes in which the agent could not decide."""
    tokens_in: int = 0
    tokens_out: int = 0
    """The tokens of all episodes, including those that do not count."""
    passes: Mapping[int, Interval] = field(default_factory=dict)
    """pass@k by k, with intervals over problems (see `passes`); empty if a problem was tried once."""


def summarize(outcomes: Iterable[Outcome]) -> Summary:
    """Summarize episodes; the result does not depend on their order."""
    ordered = sorted(outcomes)
    counted_outcomes = [outcome for outcome in ordered if not (outcome.failed or outcome.unanswered)]
    n = len(counted_outcomes)
    returns = tuple(outcome.total_reward for outcome in counted_outcomes)
    return Summary(
        n=n,
        failed=sum(outcome.failed for outcome in ordered),
        returns=returns,
        mean_return=interval(returns) if n else None,
        success=wilson(sum(outcome.success for outcome in counted_outcomes), n) if n else None,
        mean_turns=sum(outcome.turns for outcome in counted_outcomes) / n if n else None,
        unanswered=sum(outcome.unanswered for outcome in ordered),
        tokens_in=sum(outcome.tokens_in for outcome in ordered),
        tokens_out=sum(outcome.tokens_out for outcome in ordered),
        passes=passes(counted_outcomes),
    )


def passes(outcomes: Sequence[Outcome]) -> dict[int, Interval]:
    """Compute pass@k over problems that were tried several times; empty if one of them was tried once.

    k is 1, 2, 4 and so on, and the least number of tries at a problem.
    """
    successes_by_problem: dict[tuple[int, int], list[bool]] = {}
    for outcome in outcomes:
        successes_by_problem.setdefault(outcome.problem, []).append(outcome.success)
    min_tries = min((len(successes) for successes in successes_by_problem.values()), default=0)
    if min_tries < 2:
        return {}
    ks = sorted({*(2**power for power in range(min_tries.bit_length())), min_tries})
    return {
        k: interval([pass_at(k, len(successes), sum(successes)) for successes in successes_by_problem.values()])
        for k in ks
    }


Z95 = 1.959963984540054
"""The 97.5th percentile of the standard normal distribution."""


def _edgeworth(values: Sequence[float], mean: float, z: float) -> float:
    """Return the quantile of the bootstrap distribution of the mean that corresponds to the normal quantile `z`."""
    n = len(values)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / n)
    skewness = math.fsum((value - mean) ** 3 for value in values) / n / deviation**3
    error = deviation / math.sqrt(n)
    return mean + error * (z + skewness * (z * z - 1) / (6 * math.sqrt(n)))


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Return a quantile of sorted values, interpolated linearly."""
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


STUDENT_T_QUANTILES = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""The 97.5th percentiles of Student's t-distribution with 1, 2, 3 ... degrees of freedom."""


def student_t_interval(values: Sequence[float]) -> Interval:
    """Compute the mean of a few values and its 95 % interval by Student's t-distribution.

    Raises:
        InvalidArgument: if there are fewer than two.
    """
    n = len(values)
    if n < 2:
        raise InvalidArgument("An interval over seeds needs at least two.")
    mean = math.fsum(values) / n
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    quantile = STUDENT_T_QUANTILES[n - 2] if n - 2 < len(STUDENT_T_QUANTILES) else 1.96
    half_width = quantile * deviation / math.sqrt(n)
    return Interval(mean, mean - half_width, mean + half_width)
