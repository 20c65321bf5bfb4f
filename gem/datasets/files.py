"""Tables in files: JSONL, JSON, CSV, Parquet and Arrow, one file or several that belong together."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import mmap
from array import array
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any

from gem.datasets.dataset import Dataset, Kind, Row, Table
from gem.errors import DataUnavailable, InvalidData

LONGEST_FIELD = 64 * 2**20
"""Characters of a CSV cell; Python's own limit is 128 KB, less than some test cases of a program."""


def read(paths: Sequence[Path], kind: Kind, source: str) -> Dataset:
    """The rows of these files, one after the other; files that did not change are opened once for each process.

    Raises:
        DataUnavailable: if a file is missing, empty or of no known format, or its reader is not installed.
        InvalidData: if a file is not what its name says.
    """
    stamps = []
    for path in paths:
        if not path.is_file():
            raise DataUnavailable(f"There is no file {path}.")
        found = path.stat()
        stamps.append((str(path.resolve()), found.st_size, found.st_mtime_ns))
    return _read(tuple(stamps), kind, source)


def is_table(path: Path) -> bool:
    """Whether the name ends like a table's that can be read here."""
    return format_of(path) in READERS


def format_of(path: Path) -> str:
    """The ending that decides how a file is read: ".jsonl" also for `problems.jsonl.gz`."""
    name = path.name.lower()
    return Path(name.removesuffix(".gz")).suffix


@lru_cache(maxsize=64)
def _read(stamps: tuple[tuple[str, int, int], ...], kind: Kind, source: str) -> Dataset:
    paths = [Path(name) for name, _, _ in stamps]
    tables = [_table(path) for path in paths]
    rows = tables[0] if len(tables) == 1 else Joined(tables)
    if not len(rows):
        raise DataUnavailable(f"{', '.join(path.name for path in paths)} has no rows.")
    return Dataset(rows, kind, source, _digest(paths), (read, (paths, kind, source)), paths[0].parent)


def _table(path: Path) -> Sequence[Row]:
    reader = READERS.get(format_of(path))
    if reader is None:
        raise DataUnavailable(f"{path.name} is no table that can be read; known are {', '.join(READERS)}.")
    return reader(path)


def _digest(paths: Sequence[Path]) -> str:
    """The hash of the only file; of several, that of what `sha256sum` would print for them."""
    digests = [_digest_of_one(path) for path in paths]
    if len(paths) == 1:
        return digests[0]
    listed = "".join(f"{digest}  {path.name}\n" for digest, path in zip(digests, paths, strict=True))
    return hashlib.sha256(listed.encode()).hexdigest()


def _digest_of_one(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Lines(Table):
    """A JSONL file: where each line begins is known, and a line is parsed when it is asked for."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._text: mmap.mmap | bytes = _content(path)
        self._starts = array("Q")
        self._ends = array("Q")
        start, size = 0, len(self._text)
        while start < size:
            found = self._text.find(b"\n", start)
            end = size if found < 0 else found
            if self._text[start:end].strip():
                self._starts.append(start)
                self._ends.append(end)
            start = end + 1

    def __len__(self) -> int:
        return len(self._starts)

    def row(self, index: int) -> Row:
        """See `Table`."""
        line = self._text[self._starts[index] : self._ends[index]]
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InvalidData(f"Row {index} of {self.name} is not JSON: {error}") from error
        return _object(row, index, self.name)


class Joined(Table):
    """Several tables as one."""

    def __init__(self, tables: Sequence[Sequence[Row]]) -> None:
        self._tables = tables
        self._ends = list(accumulate(len(table) for table in tables))

    def __len__(self) -> int:
        return self._ends[-1]

    def row(self, index: int) -> Row:
        """See `Table`."""
        place = bisect_right(self._ends, index)
        return self._tables[place][index - (self._ends[place - 1] if place else 0)]


class Columns(Table):
    """A table of Arrow's, of which one row becomes Python at a time."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __len__(self) -> int:
        count: int = self._table.num_rows
        return count

    def row(self, index: int) -> Row:
        """See `Table`."""
        row: Row = self._table.slice(index, 1).to_pylist()[0]
        return row


def _content(path: Path) -> mmap.mmap | bytes:
    if path.name.lower().endswith(".gz"):
        try:
            return gzip.decompress(path.read_bytes())
        except (OSError, EOFError) as error:
            raise InvalidData(f"{path.name} is not a whole gzip file: {error}") from error
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""


def _text(path: Path) -> str:
    try:
        return bytes(_content(path)).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidData(f"{path.name} is not UTF-8: {error}") from error


def _object(row: object, index: int, name: str) -> Row:
    if not isinstance(row, dict):
        raise InvalidData(f'Row {index} of {name} is {type(row).__name__}, not an object such as {{"problem": ...}}.')
    return row


def _json(path: Path) -> Sequence[Row]:
    try:
        rows = json.loads(_text(path))
    except ValueError as error:
        raise InvalidData(f"{path.name} is not JSON: {error}") from error
    if not isinstance(rows, list):
        raise InvalidData(f"{path.name} has to hold a list of objects; one object on each line goes into a .jsonl.")
    return [_object(row, index, path.name) for index, row in enumerate(rows)]


def _csv(path: Path, delimiter: str) -> Sequence[Row]:
    csv.field_size_limit(LONGEST_FIELD)
    reader = csv.DictReader(io.StringIO(_text(path), newline=""), delimiter=delimiter, strict=True)
    rows = []
    try:
        for index, row in enumerate(reader):
            if None in row or None in row.values():
                raise InvalidData(f"Row {index} of {path.name} has not as many values as there are columns.")
            rows.append(dict(row))
    except csv.Error as error:
        raise InvalidData(f"Line {reader.line_num} of {path.name} cannot be read: {error}") from error
    return rows


def _parquet(path: Path) -> Sequence[Row]:
    arrow: Any = import_module("pyarrow")  # here because it is heavy, and only these files need it
    parquet: Any = import_module("pyarrow.parquet")
    try:
        return Columns(parquet.read_table(path, memory_map=True))
    except (arrow.ArrowException, OSError) as error:
        raise InvalidData(f"{path.name} is not a Parquet file: {error}") from error


def _arrow(path: Path) -> Sequence[Row]:
    """Arrow's file format or its stream, which has the same endings."""
    arrow: Any = import_module("pyarrow")
    try:
        try:
            return Columns(arrow.ipc.open_file(arrow.memory_map(str(path))).read_all())
        except arrow.ArrowException:
            return Columns(arrow.ipc.open_stream(arrow.memory_map(str(path))).read_all())
    except (arrow.ArrowException, OSError) as error:
        raise InvalidData(f"{path.name} is not an Arrow file: {error}") from error


def _needs_arrow(reader: Callable[[Path], Sequence[Row]], path: Path) -> Sequence[Row]:
    try:
        return reader(path)
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise DataUnavailable(f"Reading {path.name} needs the package pyarrow: pip install pyarrow") from error


READERS: Mapping[str, Callable[[Path], Sequence[Row]]] = {
    ".jsonl": Lines,
    ".ndjson": Lines,
    ".json": _json,
    ".csv": partial(_csv, delimiter=","),
    ".tsv": partial(_csv, delimiter="\t"),
    ".parquet": partial(_needs_arrow, _parquet),
    ".arrow": partial(_needs_arrow, _arrow),
    ".feather": partial(_needs_arrow, _arrow),
}
"""Ending to what reads such a file."""
