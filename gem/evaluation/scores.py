"""Scores of episodes: means, success rates and their 95 % intervals, with every seed as one observation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gem.errors import InvalidArgument
from gem.evaluation.faults import NO_FAULTS, Faults
from gem.evaluation.intervals import (
    MIN_SEEDS,
    Z95,
    Estimate,
    Interval,
    SeedSums,
    estimate_return,
    estimate_share,
    estimate_success,
    student_quantile,
    wilson,
)

__all__ = [
    "Z95",
    "Estimate",
    "Interval",
    "Outcome",
    "SeedSums",
    "Summary",
    "estimate_return",
    "interval",
    "over_environments",
    "paired_difference",
    "pass_at",
    "passes",
    "pool",
    "pool_estimates",
    "scaled",
    "student_t_interval",
    "summarize",
    "wilson",
]

EACH_EQUAL = "No interval: in each environment all returns are equal, so nothing is known of their spread."


def interval(values: Sequence[float]) -> Interval:
    """Compute the mean of one value for each seed and its 95 % interval, as `estimate_return` does.

    Where that has no interval, because there are few values or all are equal, both ends are the mean, for tables of
    numbers that need ends. What claims something of agents uses `estimate_return`, which says why there is none.

    Raises:
        InvalidArgument: if there are no values.
    """
    estimate = estimate_return(SeedSums.of([value]) for value in values)
    return estimate.interval or Interval(estimate.mean, estimate.mean, estimate.mean)


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


def scaled(estimate: Estimate, scale: Callable[[float], float]) -> Estimate:
    """Convert a mean and the ends of its interval to another scale, which does not turn their order around."""
    low = None if estimate.low is None else scale(estimate.low)
    high = None if estimate.high is None else scale(estimate.high)
    return Estimate(scale(estimate.mean), low, high, estimate.seeds, estimate.reason)


def pool_estimates(parts: Sequence[Estimate]) -> Estimate:
    """Compute the mean over environments, with equal weights, and its interval if there is one.

    Where all returns of an environment are equal, nothing is known of its error, and the others decide. There is no
    interval if one of them has too few seeds for one, or if none has one.

    Raises:
        InvalidArgument: if there are no environments.
    """
    if not parts:
        raise InvalidArgument("A mean over environments needs at least one.")
    if len(parts) == 1:
        return parts[0]
    mean = math.fsum(part.mean for part in parts) / len(parts)
    seeds = sum(part.seeds for part in parts)
    fewest = min(parts, key=lambda part: part.seeds)
    if fewest.seeds < MIN_SEEDS:
        return Estimate(mean, None, None, seeds, _few_in_one_reason(fewest.seeds))
    if all(part.interval is None for part in parts):
        return Estimate(mean, None, None, seeds, EACH_EQUAL)
    known = [Interval(*(part.interval or (part.mean, part.mean, part.mean))) for part in parts]
    return Estimate(*pool(known), seeds)


def _few_in_one_reason(seeds: int) -> str:
    noun = "1 seed" if seeds == 1 else f"{seeds} seeds"
    return f"No interval: the environment with the fewest has {noun}, and it takes {MIN_SEEDS} in each."


def over_environments(
    seeds_by_env: Iterable[Sequence[SeedSums]], statistic: Callable[[Iterable[SeedSums]], Estimate]
) -> Estimate:
    """Compute a statistic of several environments together, such as `estimate_return`, with equal weights.

    Seeds of different environments are independent, so the errors of their means add up as squares. With few seeds in
    one of them, all seeds are taken as one sample, if all have the same number of episodes. Its spread includes the
    differences between environments, so the interval is then wider than it need be. If they have not, as in a part of
    an evaluation, there is no interval: the sample would be mostly of those that were played more.

    Raises:
        InvalidArgument: if there are no episodes.
    """
    found = [seeds for seeds in seeds_by_env if seeds]
    parts = [statistic(seeds) for seeds in found]
    fewest = min((part.seeds for part in parts), default=0)
    is_even = len({sum(row.n for row in seeds) for seeds in found}) == 1
    if len(parts) > 1 and fewest < MIN_SEEDS and is_even:
        return statistic(row for seeds in found for row in seeds)
    return pool_estimates(parts)


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
    problem: tuple[int, int] | None = None
    """Seed and seat; episodes with the same are tries at one problem. None if each episode has a seed of its own."""
    tokens_in: int = 0
    tokens_out: int = 0
    faults: Faults = NO_FAULTS
    """The agent's actions, and those that the environment did not accept."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The scores of an agent in one environment; without episodes that count there are no intervals."""

    n: int
    """The number of episodes that count."""
    failed: int
    """The number of episodes in which the environment failed."""
    returns_by_seed: tuple[tuple[float, ...], ...]
    """The returns of all tries and seats, for each seed."""
    mean_return: Estimate | None
    success: Estimate | None
    mean_turns: float | None
    unanswered: int = 0
    """The number of episodes in which the agent could not decide."""
    tokens_in: int = 0
    tokens_out: int = 0
    """The tokens of all episodes, including those that do not count."""
    passes: Mapping[int, Estimate] = field(default_factory=dict)
    """pass@k by k, with intervals over seeds (see `passes`); empty if a problem was tried once."""
    faults: Faults = NO_FAULTS
    """The actions of all episodes, including those that do not count."""


def summarize(outcomes: Iterable[Outcome]) -> Summary:
    """Summarize episodes; the result does not depend on their order.

    All seats and tries of a seed are one observation: 30 seeds with four tries each are 30, not 120.
    """
    ordered = sorted(outcomes, key=lambda outcome: outcome.place)
    counted_outcomes = [outcome for outcome in ordered if not (outcome.failed or outcome.unanswered)]
    n = len(counted_outcomes)
    by_seed: dict[int, list[Outcome]] = {}
    for outcome in counted_outcomes:
        by_seed.setdefault(_problem(outcome)[0], []).append(outcome)
    seeds = [
        SeedSums.of([outcome.total_reward for outcome in rows], sum(outcome.success for outcome in rows))
        for rows in by_seed.values()
    ]
    return Summary(
        n=n,
        failed=sum(outcome.failed for outcome in ordered),
        returns_by_seed=tuple(tuple(outcome.total_reward for outcome in rows) for rows in by_seed.values()),
        mean_return=estimate_return(seeds) if n else None,
        success=estimate_success(seeds) if n else None,
        mean_turns=sum(outcome.turns for outcome in counted_outcomes) / n if n else None,
        unanswered=sum(outcome.unanswered for outcome in ordered),
        tokens_in=sum(outcome.tokens_in for outcome in ordered),
        tokens_out=sum(outcome.tokens_out for outcome in ordered),
        passes=passes(counted_outcomes),
        faults=Faults(*(sum(numbers) for numbers in zip(NO_FAULTS, *(one.faults for one in ordered), strict=True))),
    )


def passes(outcomes: Sequence[Outcome]) -> dict[int, Estimate]:
    """Compute pass@k over problems that were tried several times; empty if one of them was tried once.

    k is 1, 2, 4 and so on, and the least number of tries at a problem. The interval is over seeds, since the seats of a
    seed are one observation.
    """
    successes_by_problem: dict[tuple[int, int], list[bool]] = {}
    for outcome in outcomes:
        successes_by_problem.setdefault(_problem(outcome), []).append(outcome.success)
    min_tries = min((len(successes) for successes in successes_by_problem.values()), default=0)
    if min_tries < 2:
        return {}
    ks = sorted({*(2**power for power in range(min_tries.bit_length())), min_tries})
    return {k: _pass_over_seeds(k, successes_by_problem) for k in ks}


def _pass_over_seeds(k: int, successes_by_problem: Mapping[tuple[int, int], Sequence[bool]]) -> Estimate:
    chances_by_seed: dict[int, list[float]] = {}
    for (seed, _), successes in successes_by_problem.items():
        chances_by_seed.setdefault(seed, []).append(pass_at(k, len(successes), sum(successes)))
    return estimate_share((len(chances), math.fsum(chances)) for chances in chances_by_seed.values())


def _problem(outcome: Outcome) -> tuple[int, int]:
    return (outcome.place, 0) if outcome.problem is None else outcome.problem


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
    half_width = student_quantile(n - 1) * deviation / math.sqrt(n)
    return Interval(mean, mean - half_width, mean + half_width)
