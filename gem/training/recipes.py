"""Recipes: specifications that were tried, with what came of them. Each is a JSON file in `recipes/`.

Besides the specification a recipe says in words what it is for (`summary`), what to expect (`expected`, measured by
`python -m bench.training`), and on what it was tried (`status`: "reproduced here", or what it needs).
"""

from __future__ import annotations

import difflib
import json
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from gem.errors import InvalidArgument
from gem.training.spec import TrainingSpec, read_spec

FOLDER = Path(__file__).parent / "recipes"


class Recipe(BaseModel):
    """A tried specification."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    summary: str
    status: str
    expected: str
    spec: dict[str, Any]

    @property
    def training_spec(self) -> TrainingSpec:
        """The specification, checked."""
        return read_spec({**self.spec, "recipe": self.name})


@cache
def all_recipes() -> tuple[Recipe, ...]:
    """Every recipe, by name."""
    paths = sorted(FOLDER.glob("**/*.json"))
    return tuple(Recipe(name=path.stem, **json.loads(path.read_text(encoding="utf-8"))) for path in paths)


def data(name: str) -> dict[str, Any]:
    """A recipe's specification as plain data.

    Raises:
        InvalidArgument: if there is no such recipe; the nearest is named.
    """
    known = {recipe.name: recipe for recipe in all_recipes()}
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean {near[0]}?" if near else "python -m gem.training --list shows them."
        raise InvalidArgument(f"There is no recipe {name!r}. {hint}")
    return {**known[name].spec, "recipe": name}
