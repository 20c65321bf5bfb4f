"""Word problems whose names and numbers are drawn: every number gives another problem, so no list of them is complete.

`easy`, `medium` and `hard` have the templates, one function each, in words of our own. A template draws its numbers so
that the answer is exact: a whole number or a fraction. Begin reading at `draw`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from gem.datasets.dataset import Dataset, Row
from gem.datasets.drawn import drawn_dataset
from gem.datasets.word_problems import easy, hard, medium
from gem.datasets.word_problems.draw import Draw, Template

VERSION = 1
"""Increased whenever a number would give another problem than before."""
LEVELS: Mapping[str, Sequence[Template]] = {
    "easy": easy.TEMPLATES,
    "medium": medium.TEMPLATES,
    "hard": hard.TEMPLATES,
}
"""The templates of each level."""


@cache
def drawn(level: str) -> Dataset:
    """All problems of a level. The hash depends only on `VERSION` and `level`."""
    return drawn_dataset(problem, drawn, level, kind="word problems", name="word-problems", version=VERSION)


def problem(level: str, number: int) -> Row:
    """The problem with this number: its text, its answer as "12" or "3/7", and the name of its template."""
    templates = LEVELS[level]
    draw = Draw(VERSION, list(LEVELS).index(level), number)
    template = templates[draw.number(0, len(templates) - 1)]
    text, answer = template(draw)
    return {"problem": text, "answer": str(answer), "template": template.__name__}
