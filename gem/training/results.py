"""What the recipes reached here: a file for each, which `python -m bench.training --recipe NAME --record` writes."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from gem.evaluation.scores import Interval, wilson

FOLDER = Path(__file__).parent / "recipes" / "results"
CURVE_POINTS = 40
"""A curve has so many points at most: each is the mean of equally many updates."""


class SeedResult(BaseModel):
    """One training of a recipe."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int
    before: int
    """Solved held-out episodes, as the policy was before the training."""
    after: int
    greedy: int
    """Those after it if the most probable token is taken each time."""
    constant: int | None = None
    """Those that the trained policy's commonest action solves if it is taken in every turn; None if not measured."""
    cpu_seconds: float
    """Of one thread, without the evaluations."""
    curve: tuple[float, ...]
    """The share of solved episodes during the training, at `CURVE_POINTS` equally long parts of it at most."""


class RecipeResult(BaseModel):
    """The trainings of a recipe, each with another seed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recipe: str
    commit: str = Field(max_length=40)
    """What was measured: the commit, shortened."""
    episodes: int
    """Held-out episodes of each evaluation, on seeds that no training meets."""
    seeds: tuple[SeedResult, ...]

    @property
    def expected(self) -> dict[str, Any]:
        """The block for programs: shares of solved held-out episodes before and, for each seed, after the training."""
        return {
            "before": round(sum(one.before for one in self.seeds) / len(self.seeds) / self.episodes, 3),
            "after": [round(one.after / self.episodes, 3) for one in self.seeds],
            "constant": [
                None if one.constant is None else round(one.constant / self.episodes, 3) for one in self.seeds
            ],
            "cpu_seconds": [round(one.cpu_seconds) for one in self.seeds],
            "episodes": self.episodes,
            "commit": self.commit,
        }

    @property
    def rises(self) -> bool:
        """Whether each seed solves more afterwards than before and than one action that is always taken.

        The 95 % intervals do not overlap.
        """
        return all(
            self.interval(one.after).low > self.interval(max(one.before, one.constant or 0)).high for one in self.seeds
        )

    @property
    def in_words(self) -> str:
        """The result as a sentence."""
        block = self.expected
        after = ", ".join(f"{share:.0%}" for share in block["after"]).replace("%", " %")
        before, spent = f"{block['before']:.0%}".replace("%", " %"), block["cpu_seconds"]
        seconds = f"{spent[0]}" if min(spent) == max(spent) else f"{min(spent)} to {max(spent)}"
        sentence = (
            f"From {before} to {after} solved of {self.episodes} episodes on other seeds, in {seconds} CPU seconds; "
            f"{len(self.seeds)} seeds."
        )
        constants = [one.constant / self.episodes for one in self.seeds if one.constant is not None]
        if not constants:
            return sentence
        always = f"{max(constants):.0%}".replace("%", " %")
        return f"{sentence} The commonest action alone, always taken, solves {always} at most."

    def interval(self, solved: int) -> Interval:
        """The 95 % interval of a share of solved episodes (Wilson)."""
        return wilson(solved, self.episodes)


def condensed(values: list[float]) -> tuple[float, ...]:
    """A curve with `CURVE_POINTS` points at most, each the mean of equally many values."""
    count = min(len(values), CURVE_POINTS)
    edges = [round(place * len(values) / count) for place in range(count + 1)] if count else []
    parts = [values[first:last] for first, last in itertools.pairwise(edges)]
    return tuple(round(sum(part) / len(part), 4) for part in parts)


@cache
def result_of(recipe: str) -> RecipeResult | None:
    """What a recipe reached; None if it was not measured here."""
    path = FOLDER / f"{recipe}.json"
    return RecipeResult.model_validate_json(path.read_bytes()) if path.exists() else None
