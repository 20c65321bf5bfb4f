"""What the recipes learned here, as small curves: the files of `gem.training.results`, which every installation has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from apps.pictures import NO_BREAK
from gem.evaluation.intervals import Interval
from gem.training import recipes
from gem.training.recipes import Recipe
from gem.training.results import RecipeResult

WIDTH, HEIGHT = 120, 60
"""Of the box that a curve is drawn in; its height is a share from 0 to 1."""


class Row(NamedTuple):
    """What a training reached in held-out episodes, with 95 % intervals."""

    seed: int
    before: Interval
    after: Interval
    greedy: float
    """The share that is solved if the most probable token is taken each time."""
    cpu_seconds: float
    constant: float | None
    """What the commonest action alone, always taken, would solve; None if that was not measured."""


@dataclass(frozen=True)
class Learned:
    """A recipe with what its trainings reached."""

    recipe: Recipe
    result: RecipeResult

    @property
    def env_id(self) -> str:
        """The environment."""
        return str(self.recipe.spec["env_id"])

    @property
    def mark(self) -> str:
        """The words of its badge: many recipes learn an easier version of an environment, such as a smaller board."""
        return "easier version learned here" if self.recipe.changes_environment else "learned here"

    @property
    def before(self) -> float:
        """The share of held-out episodes that were solved before the training."""
        return float(self.result.expected["before"])

    @property
    def after(self) -> list[float]:
        """The shares that were solved after it, of each seed."""
        return list(self.result.expected["after"])

    @property
    def constant(self) -> float | None:
        """The most that the commonest action alone, always taken, solves; None if that was not measured."""
        return max((row.constant for row in self.rows if row.constant is not None), default=None)

    @property
    def mean(self) -> float:
        """Their mean."""
        return sum(self.after) / len(self.after)

    @property
    def seconds(self) -> float:
        """CPU seconds of a training, on average."""
        return sum(one.cpu_seconds for one in self.result.seeds) / len(self.result.seeds)

    @property
    def rows(self) -> list[Row]:
        """What each seed reached."""
        share = self.result.interval
        return [
            Row(
                one.seed,
                share(one.before),
                share(one.after),
                share(one.greedy).mean,
                one.cpu_seconds,
                None if one.constant is None else share(one.constant).mean,
            )
            for one in self.result.seeds
        ]

    @cached_property
    def _points(self) -> list[tuple[float, float, float]]:
        """The lowest share, the mean and the highest at each point of the training."""
        columns = zip(*(one.curve for one in self.result.seeds), strict=False)
        return [(min(column), sum(column) / len(column), max(column)) for column in columns]

    @property
    def line(self) -> str:
        """The path of the mean."""
        return "M" + " L".join(self._at(place, mean) for place, (_, mean, _) in enumerate(self._points))

    @property
    def band(self) -> str:
        """The outline of the range of the seeds."""
        above = [self._at(place, high) for place, (_, _, high) in enumerate(self._points)]
        below = [self._at(place, low) for place, (low, _, _) in reversed(list(enumerate(self._points)))]
        return "M" + " L".join([*above, *below]) + " Z"

    @property
    def level(self) -> float:
        """The height of the share before the training."""
        return round(HEIGHT * (1 - self.before), 1)

    @property
    def in_words(self) -> str:
        """From what to what, for those who do not see the curve."""
        ends = f"from {_percent(self.before)} to {_percent(self.mean)} solved"
        return f"{self.recipe.name}: {ends}, mean of {len(self.result.seeds)} seeds"

    @property
    def end(self) -> float:
        """The height of the last point of the mean, in per cent."""
        return round(100 * (1 - self._points[-1][1]), 1) if self._points else 100.0

    def _at(self, place: int, share: float) -> str:
        return f"{WIDTH * place / max(1, len(self._points) - 1):.1f} {HEIGHT * (1 - share):.1f}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}{NO_BREAK}%"


@cache
def best_of(env_id: str) -> Learned | None:
    """The recipe that solves most of an environment, or else of an easier version; None if none was measured."""
    return max(learned(env_id), key=lambda one: (not one.recipe.changes_environment, one.mean), default=None)


def learned(env_id: str = "") -> list[Learned]:
    """The recipes that were measured here, those of one environment if it is named."""
    found = [Learned(recipe, recipe.result) for recipe in recipes.all_recipes() if recipe.result is not None]
    return [one for one in found if env_id in ("", one.env_id)]
