"""The conclusion that a comparison allows, in one sentence of plain words."""

from __future__ import annotations

from collections.abc import Sequence

from gem.evaluation.comparison.differences import Difference
from gem.evaluation.comparison.runs import Measure
from gem.evaluation.comparison.sequential import Look
from gem.evaluation.intervals import MIN_SEEDS


def sentence(
    first: str,
    second: str,
    difference: Difference,
    environments: Sequence[Difference],
    measure: Measure,
    pairs: int = 1,
) -> str:
    """Say whether one of two runs is better, how sure that is, and where.

    Args:
        pairs: the number of pairs among which this one is compared.
    """
    estimate = difference.estimate
    if estimate.low is None or estimate.high is None:
        return _no_interval(first, second, difference, measure)
    seeds = _count(difference.seeds, "seed")
    if not difference.decided:
        why = "" if not estimate.excludes_zero else f" among {pairs} pairs" if pairs > 1 else " by the test of signs"
        mean = amount(estimate.mean, measure, sign=True)
        return (
            f"Too close to call{why} on {seeds}: {first} minus {second} is {mean}, "
            f"and the 95 % interval is {ends(estimate.low, estimate.high, measure, sign=True)}."
        )
    better, worse = (first, second) if estimate.mean > 0 else (second, first)
    low, high = (estimate.low, estimate.high) if estimate.mean > 0 else (-estimate.high, -estimate.low)
    verb = "solves" if measure == "success" else "has a mean return that is"
    more = "more" if measure == "success" else "higher"
    return (
        f"On {seeds}, {better} {verb} {amount(abs(estimate.mean), measure)} {more} than {worse}. The 95 % interval, "
        f"{ends(low, high, measure)}, leaves out zero, so this is unlikely to be luck."
        f"{_where(environments, estimate.mean > 0)}"
    )


def sequential_sentence(first: str, second: str, found: Look, planned: int) -> str:
    """Say what a look at a comparison under way shows: whether it is decided, and between which ends the difference is.

    Args:
        planned: the number of seeds that were planned.
    """
    seeds = f"{found.seeds:,} of {_count(planned, 'seed')}"
    if not found.seeds:
        return f"Not decided: none of {_count(planned, 'seed')} has been played to its end by both agents."
    if not found.is_decided:
        return (
            f"Not decided after {seeds}: {first} minus {second} is from "
            f"{ends(found.low, found.high, 'success', sign=True)}, by the 95 % interval that holds at every look."
        )
    is_first = found.low + found.high > 0
    better, worse = (first, second) if is_first else (second, first)
    low, high = (found.low, found.high) if is_first else (-found.high, -found.low)
    return (
        f"Decided after {seeds}: {better} solves {ends(low, high, 'success')} more than {worse}, by the 95 % interval "
        "that holds at every look."
    )


def amount(value: float, measure: Measure, *, sign: bool = False) -> str:
    """Return a difference with its unit: "14.2 points" of solved episodes, or a return such as "0.214".

    What is rounded to zero has no sign.
    """
    shown = f"{100 * value:+.1f}" if measure == "success" else f"{value:+.3f}"
    if not float(shown):
        shown = shown[1:]
    if not sign:
        shown = shown.removeprefix("+")
    return f"{shown} points".replace("-", "−") if measure == "success" else shown.replace("-", "−")


def ends(low: float, high: float, measure: Measure, *, sign: bool = False) -> str:
    """Return the ends of an interval with their unit: "−1.9 to +19.0 points"."""
    return f"{amount(low, measure, sign=sign).removesuffix(' points')} to {amount(high, measure, sign=sign)}"


def _no_interval(first: str, second: str, difference: Difference, measure: Measure) -> str:
    n = difference.seeds
    if n >= MIN_SEEDS:  # the differences are equal
        if difference.tied == n:
            return f"{first} and {second} have equal results on all {n:,} seeds that both have played."
        return (
            f"{first} minus {second} is {amount(difference.estimate.mean, measure, sign=True)} on each of {n:,} seeds."
        )
    return (
        f"Too few seeds to compare: {first} and {second} share {_count(n, 'seed')} that count in both, "
        f"and it takes {MIN_SEEDS}."
    )


def _where(environments: Sequence[Difference], is_first_better: bool) -> str:
    """Say in how many environments the difference is shown by itself, and where it is the other way round."""
    if len(environments) < 2:
        return ""
    same = sum(one.decided and (one.estimate.mean > 0) == is_first_better for one in environments)
    opposite = sum(one.decided for one in environments) - same
    shown = "none" if not same else f"{same:,}"
    reverse = f", and the opposite in {opposite:,}" if opposite else ""
    others = len(environments) - same - opposite
    rest = "the other" if others == 1 else f"the other {others:,}"
    undecided = f"; in {rest}, these seeds do not decide" if others and same + opposite else ""
    return f" It is shown by itself in {shown} of {len(environments):,} environments{reverse}{undecided}."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
