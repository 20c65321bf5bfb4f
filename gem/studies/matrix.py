"""What policies that were trained in one environment solve in another: a matrix, beside what the same policy solved
before any training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gem.evaluation.comparison.differences import holm
from gem.evaluation.intervals import Estimate, Interval
from gem.evaluation.scores import wilson
from gem.studies.results import RunResult
from gem.studies.statistics import CONFIDENCE, FEWEST_SEEDS, MeanError, change
from gem.studies.study import Study

MOST_SENTENCES = 5
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
    """What policies that were trained there solve, if that is clearly more than before; None otherwise."""
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


class Matrix(NamedTuple):
    """All cells, by row and column."""

    trained_in: tuple[str, ...]
    measured_in: tuple[str, ...]
    cells: Mapping[tuple[str, str], Transfer]

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
            gains = sum(cell.carries_over for cell in own)
            return [f"In {gains} of {len(own)} environments training solves clearly more than the first policy."]
        return [_at_home_sentence(cell, cell.before.mean) for cell in own if cell.before is not None]

    def _elsewhere(self) -> list[str]:
        known = [cell for cell in self.elsewhere if cell.before is not None]
        if not known:
            return []
        if all(cell.p_value is None for cell in known):
            return [f"With fewer than {FEWEST_SEEDS} trainings in an environment, nothing is said about others."]
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
    gains = {place for place, one in changes.items() if one.mean > 0 and p_values[place] < 1 - CONFIDENCE}
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
    return Matrix(tuple(runs), tuple(study.measured_in), cells)


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
