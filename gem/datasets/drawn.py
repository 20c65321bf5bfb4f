"""Problems that are drawn from a level and a number, as a dataset."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from gem.datasets.dataset import Dataset, Row, Table

ROWS = 2**53
"""The number of problems of each level: as many as there are seeds that JSON keeps exactly."""
Draw = Callable[[str, int], Row]
"""Draws the problem of a level with a number, always the same one."""


class Drawn(Table):
    """The problems of one level. A row never changes."""

    def __init__(self, draw: Draw, level: str) -> None:
        self._draw = draw
        self.level = level

    def __len__(self) -> int:
        return ROWS

    def row(self, index: int) -> Row:
        """See `Table.row`."""
        return self._draw(self.level, index)


def drawn_dataset(
    draw: Draw, load: Callable[[str], Dataset], level: str, *, kind: str, name: str, version: int
) -> Dataset:
    """All problems of a level. The hash depends only on `kind`, `version` and `level`.

    Args:
        load: makes this dataset again from the level, in another process.
        kind: of problems, such as "word problems".
        name: of the generator, which records name as the origin of their problem.
        version: increased whenever a number gives another problem than before.
    """
    digest = hashlib.sha256(f"gemweb {kind}, version {version}, {level}".encode()).hexdigest()
    return Dataset(Drawn(draw, level), "sample", f"built-in generator {name}-{level}", digest, (load, (level,)))
