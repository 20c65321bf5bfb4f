"""A comparison as its page shows it: rows with texts and the places of what is drawn."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gem.evaluation.compare import Comparison, PairOfRuns
from gem.evaluation.comparison import power, ranks, words
from gem.evaluation.comparison.differences import Difference
from gem.evaluation.comparison.pairs import SeedPair
from gem.evaluation.comparison.runs import Measure

LETTERS = "ABCDEF"
MAX_MORE_SEEDS = 2_000
"""Above this number of seeds that would decide, the page says "over"."""
SCALES = (0.1, 0.25, 0.5, 1.0)
"""Where the scale of the intervals may end."""


@dataclass(frozen=True, slots=True)
class Row:
    """One difference: a pair of runs, or an environment of a pair."""

    label: str
    first: str
    """The letter of the first run."""
    second: str
    difference: Difference
    measure: Measure
    number: int = 0
    """The place of the pair among all."""

    @property
    def mean(self) -> str:
        """The difference, with its sign."""
        return words.amount(self.difference.estimate.mean, self.measure, sign=True).removesuffix(" points")

    @property
    def ends(self) -> str:
        """The 95 % interval; a dash if there is none."""
        estimate = self.difference.estimate
        if estimate.low is None or estimate.high is None:
            return "–"
        return words.ends(estimate.low, estimate.high, self.measure, sign=True).removesuffix(" points")

    @property
    def p(self) -> str:
        """The adjusted p-value."""
        value = self.difference.p_adjusted
        return "< 0.001" if value < 0.001 else f"{value:.3f}"

    @property
    def says(self) -> str:
        """What is decided."""
        if self.difference.decided:
            return f"{self.first if self.difference.estimate.mean > 0 else self.second} better"
        if self.difference.tied == self.difference.seeds:
            return "all equal"
        return "too few seeds" if self.difference.estimate.low is None else "undecided"

    @property
    def tone(self) -> str:
        """The tone of what is decided."""
        return "win" if self.difference.decided else "muted"

    @property
    def won_width(self) -> str:
        """The share of seeds that the first run won, as a width in percent."""
        return _percent(self.difference.won, self.difference.seeds)

    @property
    def lost_width(self) -> str:
        """The share of seeds that the second run won."""
        return _percent(self.difference.lost, self.difference.seeds)

    @property
    def lost_start(self) -> str:
        """Where the seeds that the second run won begin."""
        return _percent(self.difference.seeds - self.difference.lost, self.difference.seeds)

    @property
    def more_seeds(self) -> str:
        """How many more seeds would show the difference that was seen; a dash if it is decided or there is none."""
        one = self.difference
        if one.decided or not one.deviation or not one.estimate.mean:
            return "–"
        more = power.seeds_needed(one.estimate.mean, one.deviation) - one.seeds
        return f"over {MAX_MORE_SEEDS:,}" if more > MAX_MORE_SEEDS else f"about {max(1, more):,}"


@dataclass(frozen=True, slots=True)
class Seed:
    """One seed of the list."""

    pair: SeedPair
    may_stand_beside: bool
    """Whether the two episodes can be replayed side by side."""

    @property
    def first_id(self) -> str:
        """The id of an episode of the first run; empty if administrators have hidden it."""
        return self.pair.first_episodes[0]

    @property
    def second_id(self) -> str:
        """The id of an episode of the second run; empty if administrators have hidden it."""
        return self.pair.second_episodes[0]


def pair_rows(comparison: Comparison) -> list[Row]:
    """Return a row for each pair of runs that shares a seed."""
    return [
        Row("", LETTERS[one.first], LETTERS[one.second], one.difference, comparison.measure, number)
        for number, one in enumerate(comparison.pairs)
        if one.difference is not None
    ]


def environment_rows(pair: PairOfRuns, measure: Measure) -> list[Row]:
    """Return a row for each environment, those with the largest difference first."""
    rows = [Row(one.env_id, LETTERS[pair.first], LETTERS[pair.second], one, measure) for one in pair.environments]
    return sorted(rows, key=lambda row: (not row.difference.decided, -abs(row.difference.estimate.mean)))


def scale(rows: Sequence[Row]) -> tuple[float, float]:
    """Return the ends of a scale around zero on which the intervals of all rows fit."""
    largest = max(
        (abs(end) for row in rows for end in (row.difference.estimate.low, row.difference.estimate.high) if end),
        default=1.0,
    )
    end = next((end for end in SCALES if largest <= end), largest)
    return -end, end


def rank_texts(comparison: Comparison) -> list[str]:
    """Return the ranks that each run may have."""
    return [ranks.in_words(interval) for interval in comparison.ranks]


def seeds(pair: PairOfRuns, outcome: str, alike: Collection[str]) -> list[Seed]:
    """Return the seeds of a pair with this outcome; all if it is empty.

    Args:
        alike: the environments whose episodes can be replayed side by side.
    """
    return [
        Seed(row, bool(row.first_episodes[0] and row.second_episodes[0]) and row.env_id in alike)
        for row in pair.pairing.pairs
        if outcome in ("", row.outcome)
    ]


def _percent(count: int, total: int) -> str:
    return f"{100 * count / total:.2f}%" if total else "0%"
