"""Recipes: specifications to begin a training with, and what they reached, as JSON files in `recipes/`.

Besides the specification, a recipe has a sentence about its purpose (`summary`) and whether it was run here (`status`:
"reproduced here", or what it needs). What to expect is what `python -m bench.training --recipe NAME --record` measured,
which stands in a file of its own (`results`); a recipe without one says it itself (`expected`).

A file with a table `recipes` holds several recipes. Each entry of the table has a name, the settings that it changes in
the file's specification, and optionally a summary. `{env_id}` in a summary stands for the recipe's environment.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from gem.errors import InvalidArgument
from gem.training.results import RecipeResult, SelfPlayResult, result_of, self_play_result_of
from gem.training.spec import TrainingSpec, read_spec
from gem.validation.near import did_you_mean

FOLDER = Path(__file__).parent / "recipes"
NOT_MEASURED = "Not measured here yet."


class Recipe(BaseModel):
    """A specification to begin a training with, and what it reached."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    summary: str
    status: str
    expected: str
    spec: dict[str, Any]

    @property
    def result(self) -> RecipeResult | None:
        """Its measured result; None if that was not measured in full, or if it is trained by self-play."""
        return result_of(self.name)

    @property
    def self_play_result(self) -> SelfPlayResult | None:
        """Its measured result by self-play; None if that was not measured, or if it plays one seat."""
        return self_play_result_of(self.name)

    @property
    def changes_environment(self) -> bool:
        """Whether it learns in another version of its environment, such as a smaller board or smaller numbers."""
        return bool(self.spec.get("env_kwargs"))

    @property
    def training_spec(self) -> TrainingSpec:
        """The specification as a validated model."""
        return read_spec({**self.spec, "recipe": self.name})


@cache
def all_recipes() -> tuple[Recipe, ...]:
    """Every recipe, in the order of the files' names."""
    return tuple(recipe for path in sorted(FOLDER.glob("*.json")) for recipe in read_file(path))


def read_file(path: Path) -> list[Recipe]:
    """The recipe in a file, or those in its table, in the table's order."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    table: dict[str, dict[str, Any]] = content.pop("recipes", {path.stem: {}})
    recipes = []
    for name, changes in table.items():
        summary = changes.pop("summary", content["summary"])
        spec = {**content["spec"], **changes}
        summary = summary.format(env_id=spec["env_id"])
        result = result_of(name) or self_play_result_of(name)
        expected = content.get("expected", NOT_MEASURED) if result is None else result.in_words
        recipes.append(Recipe(**{**content, "name": name, "summary": summary, "spec": spec, "expected": expected}))
    return recipes


def data(name: str) -> dict[str, Any]:
    """A recipe's specification as plain data.

    Raises:
        InvalidArgument: if there is no such recipe; the nearest is named.
    """
    by_name = {recipe.name: recipe for recipe in all_recipes()}
    if name not in by_name:
        hint = did_you_mean(name, by_name, "python -m gem.training --list shows them.")
        raise InvalidArgument(f"There is no recipe {name!r}. {hint}")
    return {**by_name[name].spec, "recipe": name}
