"""Word problems whose names and numbers are drawn: every number gives another problem, so no list of them is complete.

`easy`, `medium` and `hard` have the templates, one function each, in words of our own. A template draws its numbers so
that the answer is exact: a whole number or a fraction. Begin reading at `draw`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from gem.datasets.dataset import Dataset, Row, Table
from gem.datasets.word_problems import easy, hard, medium
from gem.datasets.word_problems.draw import Draw, Template

VERSION = 1
"""Increased whenever a number would give another problem than before."""
ROWS = 2**53
"""The number of problems of each level: as many as there are seeds that JSON keeps exactly."""
LEVELS: Mapping[str, Sequence[Template]] = {
    "easy": easy.TEMPLATES,
    "medium": medium.TEMPLATES,
    "hard": hard.TEMPLATES,
}
"""The templates of each level."""


class Drawn(Table):
    """The problems of one level. A row never changes."""

    def __init__(self, level: str) -> None:
        self.level = level

    def __len__(self) -> int:
        return ROWS

    def row(self, index: int) -> Row:
        """See `Table.row`."""
        return problem(self.level, index)


def drawn(level: str) -> Dataset:
    """All problems of a level. The hash depends only on `VERSION` and `level`."""
    digest = hashlib.sha256(f"gemweb word problems, version {VERSION}, {level}".encode()).hexdigest()
    return Dataset(Drawn(level), "sample", f"built-in generator word-problems-{level}", digest, (drawn, (level,)))


def problem(level: str, number: int) -> Row:
    """The problem with this number: its text, its answer as "12" or "3/7", and the name of its template."""
    templates = LEVELS[level]
    draw = Draw(VERSION, list(LEVELS).index(level), number)
    template = templates[draw.number(0, len(templates) - 1)]
    text, answer = template(draw)
    return {"problem": text, "answer": str(answer), "template": template.__name__}
