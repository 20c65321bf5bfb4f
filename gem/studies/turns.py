"""How many turns the variants of a study use, beside the best strategy: for environments whose optimum is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from gem.evaluation.intervals import Interval
from gem.evaluation.scores import student_t_interval
from gem.studies.statistics import mean_difference, seeds_needed

if TYPE_CHECKING:
    from gem.studies.report import Row


class Point(NamedTuple):
    """The turns of one variant."""

    variant: str
    title: str
    position: float | None
    """Where it stands on the axis of the study; None without one."""
    turns: Interval
    """Of the solved episodes, over seeds (Student's t)."""
    solved: Interval
    """The share of held-out episodes, over seeds (Student's t)."""
    per_seed: tuple[float, ...]


class Fewer(NamedTuple):
    """How many turns fewer one variant uses than the reference."""

    title: str
    interval: Interval
    """All of an environment hold together with 95 % (Welch's t, Bonferroni)."""

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.interval.low > 0 or self.interval.high < 0


class TurnsUsed(NamedTuple):
    """The turns of all variants in one environment."""

    environment: str
    optimum: float
    points: tuple[Point, ...]

    @property
    def reference(self) -> Point:
        """The variant that the others are compared with: the last one on the axis, or of the plan."""
        return self.points[-1]

    @property
    def seeds_needed(self) -> int:
        """The number of seeds from which on a difference may be claimed."""
        return seeds_needed(len(self.points) - 1)

    @property
    def fewer(self) -> list[Fewer]:
        """How many turns fewer each of the others uses than the reference; empty below `seeds_needed` seeds."""
        others = self.points[:-1]
        if len(self.reference.per_seed) < self.seeds_needed:
            return []
        return [
            Fewer(point.title, mean_difference([self.reference.per_seed], [point.per_seed], len(others)))
            for point in others
        ]

    @property
    def sentences(self) -> list[str]:
        """What the intervals allow to say."""
        nearest = min(self.points, key=lambda point: point.turns.mean)
        first = (
            f"{self.environment}: solved episodes take {_turns(nearest.turns)} with {nearest.title}, the fewest; the "
            f"best strategy takes {self.optimum:g}."
        )
        return [first, *self._comparison()]

    def _comparison(self) -> list[str]:
        if len(self.points) < 2:
            return []
        found = self.fewer
        if not found:
            return [
                f"{self.environment}: with fewer than {self.seeds_needed} seeds, nothing is said about differences in "
                f"turns."
            ]
        reference = f"{self.reference.title}, which takes {_turns(self.reference.turns)}"
        sentences = []
        for word, sign in (("fewer", 1), ("more", -1)):
            clear = [one for one in found if one.is_clear and one.interval.mean * sign > 0]
            if clear:
                each = "; ".join(f"{one.title} by {_number(one.interval, sign)}" for one in clear)
                sentences.append(f"{self.environment}: compared with {reference}, {word} are taken with {each}.")
        same = [one.title for one in found if not one.is_clear]
        if same:
            sentences.append(
                f"{self.environment}: no difference in turns is shown between {self.reference.title} and "
                f"{', '.join(same)}."
            )
        return sentences


def turns_used(environment: str, optimum: float, rows: Sequence[Row], positions: dict[str, float]) -> TurnsUsed | None:
    """The turns of all variants in one environment; None where a seed has solved nothing, or there are too few seeds.

    Args:
        rows: the variants.
        positions: of the variants on the axis of the study; empty without one.
    """
    points = []
    for row in rows:
        cell = next((cell for cell in row.cells if cell.environment == environment), None)
        counts = [] if cell is None else [run.turns_when_solved for run in cell.runs]
        known = tuple(count for count in counts if count is not None)
        if cell is None or len(known) < max(2, len(counts)):
            return None
        points.append(
            Point(
                row.name,
                row.title,
                positions.get(row.name),
                student_t_interval(known),
                _within(student_t_interval(cell.shares)),
                known,
            )
        )
    if positions:
        points.sort(key=lambda point: point.position or 0.0)
    return TurnsUsed(environment, optimum, tuple(points)) if points else None


def _within(share: Interval) -> Interval:
    return Interval(share.mean, max(0.0, share.low), min(1.0, share.high))


def _turns(interval: Interval) -> str:
    """A number of turns with the ends of its interval: 4.95 turns (4.80 to 5.10)."""
    return f"{interval.mean:.2f} turns ({interval.low:.2f} to {interval.high:.2f})"


def _number(interval: Interval, sign: int) -> str:
    low, high = sorted((sign * interval.low, sign * interval.high))
    return f"{sign * interval.mean:.2f} ({low:.2f} to {high:.2f})"
