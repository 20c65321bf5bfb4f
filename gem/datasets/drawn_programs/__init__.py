"""Programming problems whose constants and tests are drawn: every number gives another problem, so no list of them is
complete.

`easy`, `medium` and `hard` have the templates, one function each, in words of our own. Each has a solution, and the
tests are what it prints. Begin reading at `draw`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache

from gem.datasets.dataset import Dataset, Row
from gem.datasets.drawn import drawn_dataset
from gem.datasets.drawn_programs import easy, hard, medium
from gem.datasets.drawn_programs.draw import Draw, Template

VERSION = 1
"""Increased whenever a number would give another problem than before."""
KEY = 2
"""Part of the key of all draws, so that they are not those of the word problems."""
LEVELS: Mapping[str, Sequence[Template]] = {
    "easy": easy.TEMPLATES,
    "medium": medium.TEMPLATES,
    "hard": hard.TEMPLATES,
}
"""The templates of each level."""


@cache
def drawn(level: str) -> Dataset:
    """All problems of a level. The hash depends only on `VERSION` and `level`."""
    return drawn_dataset(problem, drawn, level, kind="programming problems", name="programs", version=VERSION)


def problem(level: str, number: int) -> Row:
    """The problem with this number: its text, its tests as JSON, a solution, and the name of its template."""
    templates = LEVELS[level]
    draw = Draw(VERSION, KEY, list(LEVELS).index(level), number)
    template = templates[draw.number(0, len(templates) - 1)]
    text, solution, inputs, outputs = template(draw)
    tests = json.dumps({"inputs": inputs, "outputs": outputs})
    return {"problem": text, "tests": tests, "solution": solution, "template": template.__name__}
