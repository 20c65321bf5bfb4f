"""The pages that teach training: their numbers are computed, their figures can be read in light and dark."""

import re
from pathlib import Path

import pytest

from gem.credit import compute_advantages
from gem.training import recipes
from gem.training.results import RecipeResult, result_of
from gem.training.spec import TrainingSpec
from gem.training.study.curves import INK

DOCS = Path(__file__).resolve().parents[2] / "docs"
NAMES = ("training.md", "algorithms/rebn.md", "collapsed-runs.md", "gpu-node.md", "gem-core-24.md")
PAGES = [DOCS / name for name in NAMES]
FIGURES = sorted((DOCS / "images/learning").glob("*.svg"))


def test_the_example_by_hand_is_what_the_code_computes() -> None:
    page = (DOCS / "algorithms/rebn.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d) \| (\d) \| ([\d.]+) \| (-?[\d.]+) \| (-?[\d.]+) \|$", page, re.MULTILINE)
    rewards: dict[str, list[float]] = {}
    for episode, _, reward, _, _ in rows:
        rewards.setdefault(episode, []).append(float(reward))
    plain = compute_advantages("reinforce", list(rewards.values()), discount=0.9).advantages
    rebn = compute_advantages("rebn", list(rewards.values()), discount=0.9).advantages
    assert len(rows) == 5
    assert [f"{one:.3f}" for turns in plain for one in turns] == [row[3] for row in rows]
    assert [f"{one:.3f}" for turns in rebn for one in turns] == [row[4] for row in rows]


def test_every_figure_is_shown_on_a_page_and_every_shown_one_is_there() -> None:
    shown = {name for page in PAGES for name in re.findall(r"images/learning/([\w-]+\.svg)", page.read_text())}
    assert shown == {figure.name for figure in FIGURES}


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.stem)
def test_a_figure_says_what_it_shows_and_has_colours_for_dark_pages(figure: Path) -> None:
    drawn = figure.read_text(encoding="utf-8")
    assert re.search(r'aria-label="[^"]{10,}"', drawn)
    assert "prefers-color-scheme:dark" in drawn or INK in drawn


@pytest.mark.parametrize("written", PAGES, ids=lambda page: page.stem)
def test_settings_that_a_page_names_exist(written: Path) -> None:
    text = written.read_text(encoding="utf-8")
    named = set(re.findall(r"--set (\w+)=", text)) | set(re.findall(r"`(\w+)=[^`]+`", text))
    settings = {name for name in named if name.lower() == name}
    assert settings <= set(TrainingSpec.model_fields)


def test_the_table_of_recipes_has_the_numbers_of_the_records() -> None:
    page = (DOCS / "training.md").read_text(encoding="utf-8")
    row = r"^\| `([\w-]+)` \| (\d+|–) \| (\d+ %) \| ([\d, ]+ %) \| ([\d, ]+ %) \| (.+?) \| (\d+(?: to \d+)?) \|$"
    written = {name: cells for name, *cells in re.findall(row, page, re.MULTILINE)}
    records = {recipe.name: result_of(recipe.name) for recipe in recipes.all_recipes()}
    assert written == {name: row_of(found) for name, found in records.items() if found is not None}


def row_of(found: RecipeResult) -> list[str]:
    """What the table says of a record: questions, before, after, greedy, one action and CPU seconds."""

    def shares(*solved: int) -> str:
        return f"{', '.join(f'{each / found.episodes:.0%}'.rstrip('%') for each in solved)} %"

    constants = [seed.constant for seed in found.seeds if seed.constant is not None]
    seconds = [round(seed.cpu_seconds) for seed in found.seeds]
    return [
        str(found.problems or "–"),
        shares(found.seeds[0].before),
        shares(*(seed.after for seed in found.seeds)),
        shares(*(seed.greedy for seed in found.seeds)),
        shares(max(constants)) if constants else "–",
        f"{min(seconds)} to {max(seconds)}" if min(seconds) < max(seconds) else f"{seconds[0]}",
    ]
