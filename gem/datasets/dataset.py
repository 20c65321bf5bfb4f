"""Rows that do not change, with their source and their hash."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, overload

from gem.errors import InvalidData

Row = dict[str, Any]
Kind = Literal["rows", "file", "hub", "sample"]


class Table(Sequence[Row]):
    """Rows that are read or made one at a time; a `Dataset` has seen to it that the number is one of the table's."""

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self.row(i) for i in range(*index.indices(len(self)))]
        return self.row(index)

    @abstractmethod
    def row(self, index: int) -> Row:
        """The row with this number, the first being 0.

        Raises:
            InvalidData: if what is stored there cannot be read.
        """


@dataclass(frozen=True, eq=False)
class Dataset(Sequence[Row]):
    """A table of problems: `data[3]` is a dictionary, `len(data)` the number of rows.

    Whatever it is read from stays as it is while it is used, so copies share the rows.
    """

    rows: Sequence[Mapping[str, Any]] = field(repr=False)
    kind: Kind
    """Rows that were given, a local file, a dataset of the hub, or a sample that comes with the engine."""
    source: str
    """Where the rows come from, for people, without the folders of this machine: "file gsm8k.jsonl"."""
    sha256: str
    """64 hexadecimal digits. Of one file those that `sha256sum` prints; of several, those of their list."""
    again: tuple[Callable[..., Dataset], tuple[Any, ...]] | None = field(default=None, repr=False)
    """How another process opens the same data; None to send the rows themselves."""

    folder: Path | None = field(default=None, repr=False)
    """Where the files lie that rows may name, such as pictures; None if they may name none."""

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        """The row with this number, or several.

        Raises:
            IndexError: outside the table.
            InvalidData: if what is stored there cannot be read.
        """
        if isinstance(index, slice):
            return [dict(self.rows[i]) for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"{self.source} has {len(self)} rows; there is no row {index}.")
        return dict(self.rows[index % len(self)])

    def __iter__(self) -> Iterator[Row]:
        return (self[index] for index in range(len(self)))

    @property
    def columns(self) -> list[str]:
        """The names of the values in the first row."""
        return list(self.rows[0]) if len(self) else []

    def __deepcopy__(self, _: dict[int, Any]) -> Dataset:
        return self

    def __reduce__(self) -> tuple[Callable[..., Dataset], tuple[Any, ...]]:
        if self.again is not None:
            return self.again
        return Dataset, (list(self.rows), self.kind, self.source, self.sha256)


def of_rows(rows: Sequence[Mapping[str, Any]], source: str = "rows that were given") -> Dataset:
    """A dataset of rows that are there already: a list of dictionaries, or anything that is read like one.

    Raises:
        InvalidData: if there is none, or one is no dictionary.
    """
    kept = [rows[index] for index in range(len(rows))]
    if not kept:
        raise InvalidData("There are no rows; give at least one, as a dictionary.")
    digest = hashlib.sha256()
    for number, row in enumerate(kept):
        if not isinstance(row, Mapping):
            raise InvalidData(
                f"Row {number} is {type(row).__name__}, not a dictionary such as {{'problem': '1 + 1?'}}."
            )
        digest.update(json.dumps(row, sort_keys=True, ensure_ascii=False, default=repr).encode() + b"\n")
    return Dataset([dict(row) for row in kept], "rows", source, digest.hexdigest())
