"""The recipes that are quick to train reach with their first seed what is recorded, by the command that recorded it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gem.training import recipes

pytestmark = pytest.mark.long
MOST_CPU_SECONDS = 130


def quick() -> list[str]:
    """The recorded recipes of which a training takes at most `MOST_CPU_SECONDS`."""
    return [
        recipe.name
        for recipe in recipes.all_recipes()
        if recipe.result is not None and recipe.result.seeds[0].cpu_seconds <= MOST_CPU_SECONDS
    ]


@pytest.mark.parametrize("name", quick())
def test_it_reaches_what_is_recorded(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from bench.training.recipe import check

    assert check(name, 1, record=False, folder=tmp_path) == 0
