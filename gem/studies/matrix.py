"""What policies that were trained in one environment solve in another: a matrix, beside what the same policy solved
before any training."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gem import registry
from gem.evaluation.comparison.differences import holm
from gem.evaluation.intervals import Estimate, Interval
from gem.evaluation.scores import wilson
from gem.studies.results import RunResult
from gem.studies.statistics import CONFIDENCE, FEWEST_SEEDS, AverageChange, MeanError, Start, average_change, change
from gem.studies.study import Study

MOST_SENTENCES = 5
MOST_PAIRS = 100
"""With more of them, and no clear change in any, a sentence says that this means little."""
TOO_FEW_RUNS = f"No interval: it takes {FEWEST_SEEDS} trainings."


class Transfer(NamedTuple):
    """A cell of the matrix."""

    trained_in: str
    measured_in: str
    share: Estimate
    """The share of held-out episodes that is solved: the mean over the trainings of all seeds and variants, with its
    95 % interval over these trainings (Student's t) from `FEWEST_SEEDS` on."""
    before: Interval | None
    """What the policy that the training began with solves there (Wilson); None if that was not measured."""
    own: float | None
    """What policies that were trained there solve, if each of them solves clearly more than before (the 95 % intervals
    of the held-out episodes do not overlap) and there are `FEWEST_SEEDS`; None otherwise."""
    p_value: float | None
    """The probability of such a change, or of a larger one, in any cell of the matrix, if no training changes anything
    (Holm); None if it was not measured before, or there are fewer than `FEWEST_SEEDS` trainings."""

    @property
    def is_own(self) -> bool:
        """Whether it was trained where it is measured."""
        return self.trained_in == self.measured_in

    @property
    def gain(self) -> float | None:
        """The share of the gain of training there: 1 if it solves as much more than before; None if training there
        gains nothing, or one of the three is not known."""
        if self.before is None or self.own is None or self.own <= self.before.mean:
            return None
        return (self.share.mean - self.before.mean) / (self.own - self.before.mean)

    @property
    def carries_over(self) -> bool:
        """Whether it clearly solves more than before any training."""
        return self._is_clear and self.before is not None and self.share.mean > self.before.mean

    @property
    def loses(self) -> bool:
        """Whether it clearly solves less than before any training."""
        return self._is_clear and self.before is not None and self.share.mean < self.before.mean

    @property
    def _is_clear(self) -> bool:
        return self.p_value is not None and self.p_value < 1 - CONFIDENCE


class Average(NamedTuple):
    """What policies that were trained in other environments solve in one, on average over these environments."""

    measured_in: str
    trained_in: int
    """How many other environments there are. Versions of the environment itself, such as a larger board, are none."""
    before: float
    """What the policies that they began with solve on average."""
    change: AverageChange
    """How much more is solved after the training; the columns of the matrix are the comparisons."""

    @property
    def is_more(self) -> bool:
        """Whether clearly more is solved than before any training."""
        return self.change.is_clear and self.change.interval.mean > 0

    @property
    def is_less(self) -> bool:
        """Whether clearly less is solved than before any training."""
        return self.change.is_clear and self.change.interval.mean < 0

    @property
    def after(self) -> float:
        """What they solve on average."""
        return self.before + self.change.interval.mean

    @property
    def in_short(self) -> str:
        """What they solve in per cent, with an arrow if that is clearly more or less than before any training."""
        arrow = " ↑" if self.is_more else " ↓" if self.is_less else ""
        return f"{100 * self.after:.0f}{arrow}"


class Matrix(NamedTuple):
    """All cells, by row and column."""

    trained_in: tuple[str, ...]
    measured_in: tuple[str, ...]
    cells: Mapping[tuple[str, str], Transfer]
    averages: Mapping[str, Average]
    """By column, where policies of at least `FEWEST_SEEDS` other environments were measured."""

    def row(self, trained_in: str) -> list[Transfer | None]:
        """The cells of policies that were trained in one environment, in the order of the columns."""
        return [self.cells.get((trained_in, name)) for name in self.measured_in]

    def before(self, measured_in: str) -> str:
        """What the first policies solve in a column before any training, in per cent: a range if they differ."""
        cells = [cell for cell in self.cells.values() if cell.measured_in == measured_in]
        shares = [cell.before.mean for cell in cells if cell.before is not None]
        if not shares:
            return "–"
        return " to ".join(dict.fromkeys(f"{100 * share:.0f}" for share in (min(shares), max(shares))))

    def on_average(self, measured_in: str) -> str:
        """What policies that were trained in other environments solve in a column, in per cent (`Average.in_short`)."""
        return self.averages[measured_in].in_short if measured_in in self.averages else "–"

    @property
    def elsewhere(self) -> list[Transfer]:
        """The cells of policies that were not trained where they are measured."""
        return [cell for cell in self.cells.values() if not cell.is_own]

    @property
    def carried(self) -> list[Transfer]:
        """Those that clearly solve more than before any training, the largest difference first."""
        found = [cell for cell in self.elsewhere if cell.carries_over and cell.before is not None]
        return sorted(found, key=lambda cell: -(cell.share.mean - (cell.before.mean if cell.before else 0.0)))

    @property
    def sentences(self) -> list[str]:
        """What the intervals allow to say."""
        return self._at_home() + self._elsewhere()

    def _at_home(self) -> list[str]:
        """What training gains where it is done."""
        own = [cell for cell in self.cells.values() if cell.is_own and cell.before is not None]
        if len(own) > MOST_SENTENCES:
            if all(cell.p_value is None for cell in own):
                return [f"With fewer than {FEWEST_SEEDS} trainings in an environment, no gain there is claimed."]
            known = [cell for cell in own if cell.p_value is not None]
            gains = sum(cell.own is not None for cell in known)
            return [
                f"In {gains} of {len(known)} environments with at least {FEWEST_SEEDS} trainings, each training solves "
                "clearly more than the first policy (95 % intervals of the held-out episodes)."
            ]
        return [_at_home_sentence(cell, cell.before.mean) for cell in own if cell.before is not None]

    def _elsewhere(self) -> list[str]:
        return self._on_average() + self._of_pairs()

    def _on_average(self) -> list[str]:
        """What training in other environments changes, on average over them."""
        found = sorted(self.averages.values(), key=lambda one: -abs(one.change.interval.mean))
        if not found:
            return []
        more, less = sum(one.is_more for one in found), sum(one.is_less for one in found)
        sentences = [
            f"On average over the other environments that they were trained in, policies solve clearly more than "
            f"before any training in {more} of {len(found)} columns, and clearly less in {less}; versions of an "
            "environment are columns of their own."
        ]
        sentences += [
            f"Trained in {one.trained_in} other environments, policies solve {_percent(one.after)} of "
            f"{one.measured_in} on average, and {_percent(one.before)} before any training."
            for one in [one for one in found if one.is_more or one.is_less][:MOST_SENTENCES]
        ]
        return sentences

    def _of_pairs(self) -> list[str]:
        known = [cell for cell in self.elsewhere if cell.before is not None]
        if not known:
            return []
        if all(cell.p_value is None for cell in known):
            what = "a single pair" if self.averages else "others"
            return [f"With fewer than {FEWEST_SEEDS} trainings in an environment, nothing is said about {what}."]
        carried, lost = self.carried, [cell for cell in known if cell.loses]
        sentences = [
            f"Of {len(known)} pairs of different environments, {len(carried)} solve clearly more than before any "
            f"training, and {len(lost)} clearly less."
        ]
        sentences += [
            f"Trained in {cell.trained_in}, a policy solves {_percent(cell.share.mean)} of {cell.measured_in}, and "
            f"{_percent(cell.before.mean)} before any training."
            for cell in carried[:MOST_SENTENCES]
            if cell.before is not None
        ]
        if not carried and not lost and len(known) > MOST_PAIRS:
            sentences.append("With few trainings in each, one pair of so many can hardly be told from chance.")
        return sentences


def _at_home_sentence(cell: Transfer, before: float) -> str:
    start = f"Trained in {cell.trained_in}, policies solve {_percent(cell.share.mean)} there, "
    if cell.p_value is None:
        return f"{start}and {_percent(before)} before it; with fewer than {FEWEST_SEEDS} trainings nothing is claimed."
    return f"{start}{'' if cell.carries_over else 'not '}clearly more than the {_percent(before)} before it."


def matrix(study: Study, runs: Mapping[str, list[RunResult]], untrained: Mapping[str, RunResult]) -> Matrix | None:
    """Read the matrix of a study; None if it has none, or no results of it.

    Args:
        runs: the results that count, by the environment of the training.
        untrained: what the first policies solve, by their names.
    """
    shares = {
        (trained, name): solved
        for trained, own in runs.items()
        for name in study.measured_in
        if (solved := [run.elsewhere[name] / study.episodes for run in own if name in run.elsewhere])
    }
    if not shares:
        return None
    first = {trained: untrained.get(_first_policy(study, trained)) for trained in runs}
    before = {(trained, name): _before(first[trained], name) for trained, name in shares}
    changes = {
        place: change(own, start.mean, study.episodes)
        for place, own in shares.items()
        if (start := before[place]) is not None and len(own) >= FEWEST_SEEDS
    }
    p_values = dict(zip(changes, holm([one.p_value for one in changes.values()]), strict=True))
    gains = {
        (trained, name)
        for (trained, name), own in shares.items()
        if trained == name and _all_rise(own, before[trained, name], study.episodes)
    }
    estimates = {place: _estimate(own, study.episodes) for place, own in shares.items()}
    cells = {
        (trained, name): Transfer(
            trained,
            name,
            estimate,
            before[trained, name],
            estimates[name, name].mean if (name, name) in gains else None,
            p_values.get((trained, name)),
        )
        for (trained, name), estimate in estimates.items()
    }
    averages = {name: average for name in study.measured_in if (average := _average(study, shares, first, name))}
    return Matrix(tuple(runs), tuple(study.measured_in), cells, averages)


def _all_rise(shares: Sequence[float], before: Interval | None, episodes: int) -> bool:
    """Whether there are enough trainings, and each solves clearly more than before: the intervals do not overlap."""
    if before is None or len(shares) < FEWEST_SEEDS:
        return False
    return all(wilson(round(share * episodes), episodes).low > before.high for share in shares)


def _average(
    study: Study, shares: Mapping[tuple[str, str], list[float]], first: Mapping[str, RunResult | None], name: str
) -> Average | None:
    """What policies solve in a column that were trained in other environments; None if these are too few."""
    family = _family(study.measured_spec(name).env_id)
    after: list[float] = []
    starts: list[Start] = []
    for (trained, column), own in shares.items():
        start = first[trained]
        if column == name and start and name in start.elsewhere and _trained_family(study, trained) != family:
            after.append(statistics.fmean(own))
            starts.append(Start(_first_policy(study, trained), start.elsewhere[name] / start.episodes))
    if len(after) < FEWEST_SEEDS:
        return None
    difference = average_change(after, starts, study.episodes, len(study.measured_in))
    return Average(name, len(after), statistics.fmean(start.share for start in starts), difference)


def _trained_family(study: Study, environment: str) -> str:
    return _family(study.spec_of(environment, next(iter(study.variants)), 0).env_id)


def _family(env_id: str) -> str:
    """What all difficulties of an environment share."""
    return registry.spec(env_id).family


def _before(policy: RunResult | None, name: str) -> Interval | None:
    """What a policy solves in an environment before any training."""
    return None if policy is None or name not in policy.elsewhere else wilson(policy.elsewhere[name], policy.episodes)


def _estimate(shares: Sequence[float], episodes: int) -> Estimate:
    mean = math.fsum(shares) / len(shares)
    if len(shares) < FEWEST_SEEDS:
        return Estimate(mean, None, None, len(shares), TOO_FEW_RUNS)
    half_width = MeanError.of([shares], episodes).half_width()
    return Estimate(mean, max(0.0, mean - half_width), min(1.0, mean + half_width), len(shares))


def _first_policy(study: Study, environment: str) -> str:
    """The policy that all variants begin with; empty if they begin with different ones."""
    models = {study.spec_of(environment, variant, 0).model for variant in study.variants}
    return models.pop() if len(models) == 1 else ""


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
