"""A dataset: rows that do not change, with their source and their hash."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, overload

from gem.errors import InvalidData

Row = dict[str, Any]
DataKind = Literal["rows", "file", "hub", "sample"]


class Table(Sequence[Row]):
    """Rows that are read or generated one at a time. `Dataset` checks the index before it asks for a row."""

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
        """The row with this index, counted from 0.

        Raises:
            InvalidData: if the row cannot be read.
        """


@dataclass(frozen=True, eq=False)
class Dataset(Sequence[Row]):
    """A table of problems: `data[3]` is a dictionary, `len(data)` the number of rows.

    The files that it is read from must not change while it is used. Copies share the rows.
    """

    rows: Sequence[Mapping[str, Any]] = field(repr=False)
    kind: DataKind
    """Rows that the caller passed, local files, a dataset of the hub, or a sample that comes with the engine."""
    source: str
    """Where the rows come from, for people, without names of folders: "file gsm8k.jsonl"."""
    sha256: str
    """64 hexadecimal digits. For one file they are those of `sha256sum`, for several those of the list it prints."""
    reopen: tuple[Callable[..., Dataset], tuple[Any, ...]] | None = field(default=None, repr=False)
    """A function and arguments with which another process opens the same data; None to pickle the rows themselves."""

    folder: Path | None = field(default=None, repr=False)
    """The folder of files that rows may refer to, such as pictures; None if rows may not refer to files."""

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        """The row with this index, or a list of rows for a slice.

        Raises:
            IndexError: if there is no such row.
            InvalidData: if the row cannot be read.
        """
        if isinstance(index, slice):
            return [dict(self.rows[i]) for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"{self.source} has {len(self)} rows; there is no row {index}.")
        return dict(self.rows[index % len(self)])

    def __iter__(self) -> Iterator[Row]:
        return (self[index] for index in range(len(self)))

    @cached_property
    def columns(self) -> list[str]:
        """The names of the columns in the first row."""
        return list(self.rows[0]) if len(self) else []

    def __deepcopy__(self, _: dict[int, Any]) -> Dataset:
        return self

    def __reduce__(self) -> tuple[Callable[..., Dataset], tuple[Any, ...]]:
        if self.reopen is not None:
            return self.reopen
        return Dataset, (list(self.rows), self.kind, self.source, self.sha256)


def from_rows(rows: Sequence[Mapping[str, Any]], source: str = "rows that were given") -> Dataset:
    """Make a dataset of rows: a list of dictionaries, or a sequence that can be read like one.

    Raises:
        InvalidData: if it is no sequence, there are no rows, or a row is not a dictionary.
    """
    if isinstance(rows, Mapping) or not (hasattr(rows, "__len__") and hasattr(rows, "__getitem__")):
        raise InvalidData(
            f"Rows are a list of dictionaries, one for each row, not {type(rows).__name__}. Of a dictionary of splits, "
            'give one: data["train"].'
        )
    try:
        items = [rows[index] for index in range(len(rows))]
    except (KeyError, TypeError) as error:
        raise InvalidData(
            f"The rows of a {type(rows).__name__} cannot be read by their number; give a list of dictionaries, such as "
            'frame.to_dict("records") of a data frame.'
        ) from error
    if not items:
        raise InvalidData("There are no rows; give at least one, as a dictionary.")
    digest = hashlib.sha256()
    for number, row in enumerate(items):
        if not isinstance(row, Mapping):
            raise InvalidData(
                f"Row {number} is {type(row).__name__}, not a dictionary such as {{'problem': '1 + 1?'}}."
            )
        digest.update(json.dumps(row, sort_keys=True, ensure_ascii=False, default=repr).encode() + b"\n")
    return Dataset([dict(row) for row in items], "rows", source, digest.hexdigest())
