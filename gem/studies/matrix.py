"""What policies that were trained in one environment solve in another: a matrix, beside what the same policy solved
before any training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gem.evaluation.intervals import Interval
from gem.evaluation.scores import wilson
from gem.studies.results import RunResult
from gem.studies.study import Study

MOST_SENTENCES = 5


class Transfer(NamedTuple):
    """A cell of the matrix."""

    trained_in: str
    measured_in: str
    share: Interval
    """Solved held-out episodes, pooled over the seeds of all variants (Wilson)."""
    before: Interval | None
    """What the policy that the training began with solves there; None if that was not measured."""
    own: Interval | None
    """What policies that were trained there solve; None if none was."""

    @property
    def is_own(self) -> bool:
        """Whether it was trained where it is measured."""
        return self.trained_in == self.measured_in

    @property
    def gain(self) -> float | None:
        """The share of the gain of training there: 1 if it solves as much more than before; None if training there
        gains nothing, or one of the three is not known."""
        if self.before is None or self.own is None or self.own.low <= self.before.high:
            return None
        return (self.share.mean - self.before.mean) / (self.own.mean - self.before.mean)

    @property
    def carries_over(self) -> bool:
        """Whether it clearly solves more than before any training: the 95 % intervals do not overlap."""
        return self.before is not None and self.share.low > self.before.high

    @property
    def loses(self) -> bool:
        """Whether it clearly solves less than before any training."""
        return self.before is not None and self.share.high < self.before.low


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
            gains = sum(cell.carries_over for cell in own)
            return [f"In {gains} of {len(own)} environments training solves clearly more than the first policy."]
        return [
            f"Trained in {cell.trained_in}, policies solve {_percent(cell.share.mean)} there, "
            f"{'' if cell.carries_over else 'not '}clearly more than the {_percent(cell.before.mean)} before it."
            for cell in own
            if cell.before is not None
        ]

    def _elsewhere(self) -> list[str]:
        known = [cell for cell in self.elsewhere if cell.before is not None]
        if not known:
            return []
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


def matrix(study: Study, runs: Mapping[str, list[RunResult]], untrained: Mapping[str, RunResult]) -> Matrix | None:
    """Read the matrix of a study; None if it has none, or no results of it.

    Args:
        runs: the results that count, by the environment of the training.
        untrained: what the first policies solve, by their names.
    """
    shares = {
        (trained, name): share
        for trained, own in runs.items()
        for name in study.measured_in
        if (share := _pooled([run.elsewhere[name] for run in own if name in run.elsewhere], study.episodes))
    }
    if not shares:
        return None
    first = {trained: _first_policy(study, trained) for trained in runs}
    cells = {}
    for (trained, name), share in shares.items():
        policy = untrained.get(first[trained])
        solved = [] if policy is None or name not in policy.elsewhere else [policy.elsewhere[name]]
        before = _pooled(solved, study.episodes)
        cells[trained, name] = Transfer(trained, name, share, before, shares.get((name, name)))
    return Matrix(tuple(runs), tuple(study.measured_in), cells)


def _first_policy(study: Study, environment: str) -> str:
    """The policy that all variants begin with; empty if they begin with different ones."""
    models = {study.spec_of(environment, variant, 0).model for variant in study.variants}
    return models.pop() if len(models) == 1 else ""


def _pooled(solved: list[int], episodes: int) -> Interval | None:
    return wilson(sum(solved), len(solved) * episodes) if solved else None


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
