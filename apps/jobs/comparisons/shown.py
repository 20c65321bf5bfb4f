"""A comparison as its page shows it: rows with texts and the places of what is drawn."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from apps.accounts.models import Viewer
from apps.jobs.comparisons.episodes import hidden_among
from apps.jobs.comparisons.partings import Parting, partings
from apps.jobs.comparisons.sides import Side
from apps.jobs.results.missing import Missing, missing_from
from gem.evaluation.compare import Comparison, PairOfRuns
from gem.evaluation.comparison import power, ranks, words
from gem.evaluation.comparison.differences import Difference
from gem.evaluation.comparison.pairs import SeedPair
from gem.evaluation.comparison.runs import Measure, Score
from gem.evaluation.comparison.settings import Setting, value_in_words

MAX_MORE_SEEDS = 2_000
"""Above this number of seeds that would decide, the page says "over"."""
MOST_ENTRIES = 4
"""Of a list among the settings, so many entries are shown."""
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
class SideRow:
    """One side by itself."""

    side: Side
    score: Score
    ranks: ranks.RankInterval
    cost: Decimal | None
    missing: Missing | None
    """What is missing from its results; None if nothing is."""

    @property
    def rank(self) -> str:
        """The ranks that it may have."""
        return ranks.in_words(self.ranks)

    @property
    def tokens_each(self) -> float | None:
        """Tokens per episode; None if the agent uses none."""
        return self.score.tokens / self.score.episodes if self.score.tokens and self.score.episodes else None


@dataclass(frozen=True, slots=True)
class Seed:
    """One seed of the list."""

    pair: SeedPair
    may_stand_beside: bool
    """Whether the two episodes can be replayed side by side."""
    first_id: str
    """The id of an episode of the first run; empty if administrators have hidden it."""
    second_id: str
    parting: Parting | None = None
    """Where the two episodes part; None if they do not, or if it may not be shown."""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting of all sides, in words."""

    path: str
    values: Sequence[str]
    differs: bool


def side_rows(sides: Sequence[Side], comparison: Comparison, viewer: Viewer) -> list[SideRow]:
    """Return a row for each side; of three and more, the best first."""
    rows = [
        SideRow(side, score, interval, side.cost(viewer), missing_from(side.tally))
        for side, score, interval in zip(sides, comparison.scores, comparison.ranks, strict=True)
    ]
    return sorted(rows, key=lambda row: row.ranks) if len(rows) > 2 else rows


def setting_rows(settings: Sequence[Setting]) -> list[SettingRow]:
    """Return the settings in words, those that differ first."""
    rows = [SettingRow(row.path, [_shortened(value) for value in row.values], row.differs) for row in settings]
    return sorted(rows, key=lambda row: not row.differs)


def _shortened(value: Any) -> str:
    """A value in words; of a long list the first entries and their number."""
    if not isinstance(value, list) or len(value) <= MOST_ENTRIES:
        return value_in_words(value)
    first = ", ".join(value_in_words(entry) for entry in value[:MOST_ENTRIES])
    return f"{first} and {len(value) - MOST_ENTRIES:,} more"


def pair_rows(comparison: Comparison, letters: Sequence[str]) -> list[Row]:
    """Return a row for each pair of runs that shares a seed."""
    return [
        Row("", letters[one.first], letters[one.second], one.difference, comparison.measure, number)
        for number, one in enumerate(comparison.pairs)
        if one.difference is not None
    ]


def environment_rows(pair: PairOfRuns, measure: Measure, letters: Sequence[str]) -> list[Row]:
    """Return a row for each environment, those with the largest difference first."""
    rows = [Row(one.env_id, letters[pair.first], letters[pair.second], one, measure) for one in pair.environments]
    return sorted(rows, key=lambda row: (not row.difference.decided, -abs(row.difference.estimate.mean)))


def scale(rows: Sequence[Row]) -> tuple[float, float]:
    """Return the ends of a scale around zero on which the intervals of all rows fit."""
    largest = max(
        (abs(end) for row in rows for end in (row.difference.estimate.low, row.difference.estimate.high) if end),
        default=1.0,
    )
    end = next((end for end in SCALES if largest <= end), largest)
    return -end, end


def listed(pairs: Sequence[SeedPair], outcome: str, env_id: str) -> list[SeedPair]:
    """Return the seeds with this outcome in this environment; all where these are empty."""
    return [row for row in pairs if outcome in ("", row.outcome) and env_id in ("", row.env_id)]


def seeds(pairs: Sequence[SeedPair], alike: Collection[str]) -> list[Seed]:
    """Return seeds with the episodes that may be shown.

    Args:
        alike: the environments whose episodes can be replayed side by side.
    """
    names = [name for row in pairs for name in (*row.first_episodes, *row.second_episodes)]
    hidden = hidden_among(names)
    found = []
    for row in pairs:
        first, second = ("" if own[0] in hidden else own[0] for own in (row.first_episodes, row.second_episodes))
        found.append(Seed(row, bool(first and second) and row.env_id in alike, first, second))
    parting = partings([(seed.first_id, seed.second_id) for seed in found if seed.may_stand_beside])
    return [replace(seed, parting=parting.get((seed.first_id, seed.second_id))) for seed in found]


def _percent(count: int, total: int) -> str:
    return f"{100 * count / total:.2f}%" if total else "0%"
