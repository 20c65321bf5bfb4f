"""Compares two to six runs on the seeds that they share: is one better, how sure is that, and where.

`compare` is pure: it takes scored episodes (`Run`) and needs neither files nor a server. `gem.evaluation.comparison.
records` makes runs of stored episodes. The formulas, with their sources, are in `docs/comparing.md`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from gem.errors import InvalidArgument
from gem.evaluation.comparison import power, ranks, words
from gem.evaluation.comparison.differences import Difference, adjusted, by_environment, difference
from gem.evaluation.comparison.pairs import Pairing, pair
from gem.evaluation.comparison.ranks import RankInterval
from gem.evaluation.comparison.runs import Measure, Run, Score, score
from gem.evaluation.comparison.settings import Caution, Setting, cautions, differing_settings

MIN_RUNS, MAX_RUNS = 2, 6


@dataclass(frozen=True, slots=True)
class PairOfRuns:
    """Two of the runs, compared."""

    first: int
    """The number of the first run, from 0."""
    second: int
    pairing: Pairing
    """The seeds, each with its outcome."""
    difference: Difference | None
    """Over all environments; None if no seed counts in both."""
    environments: list[Difference]
    """In each environment, with Holm's correction over them."""
    sentence: str
    """The conclusion, as a sentence that claims no more than the statistics allow."""
    shown: float | None
    """The smallest difference that so many seeds show in 80 % of comparisons; None below 10 seeds."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two to six runs, compared."""

    measure: Measure
    scores: list[Score]
    """Each run by itself."""
    pairs: list[PairOfRuns]
    """Every pair of runs; their p-values are adjusted for the number of pairs."""
    ranks: list[RankInterval]
    """The ranks that each run may have."""
    cautions: list[Caution]
    settings: list[Setting]
    """The settings that are not the same in all runs."""


def compare(runs: Sequence[Run], measure: Measure = "success") -> Comparison:
    """Compare two to six runs on the seeds that they share.

    Args:
        measure: what is compared: `success`, the share of solved episodes, or `return`, the mean return.

    Raises:
        InvalidArgument: if there are fewer than two runs, or more than six.
    """
    if not MIN_RUNS <= len(runs) <= MAX_RUNS:
        raise InvalidArgument(f"Compare {MIN_RUNS} to {MAX_RUNS} runs, not {len(runs)}.")
    numbers = list(itertools.combinations(range(len(runs)), 2))
    pairings = [pair(runs[first], runs[second], measure) for first, second in numbers]
    wholes = _wholes(pairings, measure)
    pairs = []
    for (first, second), pairing, whole in zip(numbers, pairings, wholes, strict=True):
        environments = by_environment(pairing.pairs, measure, single=pairing.single)
        names = runs[first].name, runs[second].name
        text = f"{names[0]} and {names[1]} share no seed that counts in both, so they cannot be compared."
        if whole is not None:
            text = words.sentence(*names, whole, environments, measure, len(numbers))
        shown = power.smallest_difference(whole.seeds, whole.deviation) if whole and whole.deviation else None
        pairs.append(PairOfRuns(first, second, pairing, whole, environments, text, shown))
    settings = differing_settings(runs)
    return Comparison(
        measure,
        [score(run) for run in runs],
        pairs,
        ranks.rank_intervals(len(runs), _decided(pairs)),
        cautions(runs, settings),
        settings,
    )


def _wholes(pairings: Sequence[Pairing], measure: Measure) -> list[Difference | None]:
    """Compare each pair over all environments, with p-values for the number of pairs."""
    found = [
        difference(pairing.pairs, measure, single=pairing.single) if pairing.pairs else None for pairing in pairings
    ]
    corrected = iter(adjusted([one for one in found if one is not None]))
    return [None if one is None else next(corrected) for one in found]


def _decided(pairs: Sequence[PairOfRuns]) -> list[tuple[int, int]]:
    """Return the better and the worse run of each pair that is decided."""
    return [
        (one.first, one.second) if one.difference.estimate.mean > 0 else (one.second, one.first)
        for one in pairs
        if one.difference is not None and one.difference.decided
    ]
