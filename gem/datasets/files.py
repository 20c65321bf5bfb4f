"""Reads tables from files: JSONL, JSON, CSV, Parquet and Arrow, one file or several that belong together."""

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

from gem.datasets.dataset import DataKind, Dataset, Row, Table
from gem.errors import DataUnavailable, InvalidData

MAX_FIELD_CHARS = 64 * 2**20
"""The largest CSV cell, in characters. Python's default of 128 KB is too small for some tests of programs."""


def read(paths: Sequence[Path], kind: DataKind, source: str) -> Dataset:
    """Read the rows of these files, one file after the other. Each process opens a file only once until it changes.

    Raises:
        DataUnavailable: if a file is missing, empty or in an unknown format, or its reader is not installed.
        InvalidData: if the content of a file does not have the format that its name says.
    """
    stamps = []
    for path in paths:
        if not path.is_file():
            raise DataUnavailable(f"There is no file {path}.")
        stat = path.stat()
        stamps.append((str(path.resolve()), stat.st_size, stat.st_mtime_ns))
    return _read_cached(tuple(stamps), kind, source)


def is_table(path: Path) -> bool:
    """Whether the name has the extension of a format that can be read here."""
    return format_of(path) in READERS


def format_of(path: Path) -> str:
    """The extension that decides how a file is read: ".jsonl" also for `problems.jsonl.gz`."""
    name = path.name.lower()
    return Path(name.removesuffix(".gz")).suffix


@lru_cache(maxsize=64)
def _read_cached(stamps: tuple[tuple[str, int, int], ...], kind: DataKind, source: str) -> Dataset:
    paths = [Path(name) for name, _, _ in stamps]
    tables = [_open_table(path) for path in paths]
    rows = tables[0] if len(tables) == 1 else ConcatenatedTable(tables)
    if not len(rows):
        raise DataUnavailable(f"{', '.join(path.name for path in paths)} has no rows.")
    return Dataset(rows, kind, source, _digest(paths), (read, (paths, kind, source)), paths[0].parent)


def _open_table(path: Path) -> Sequence[Row]:
    reader = READERS.get(format_of(path))
    if reader is None:
        raise DataUnavailable(f"{path.name} is no table that can be read; known are {', '.join(READERS)}.")
    return reader(path)


def _digest(paths: Sequence[Path]) -> str:
    """The hash of a single file; for several files, the hash of what `sha256sum` would print for them."""
    digests = [_digest_of_one(path) for path in paths]
    if len(paths) == 1:
        return digests[0]
    lines = "".join(f"{digest}  {path.name}\n" for digest, path in zip(digests, paths, strict=True))
    return hashlib.sha256(lines.encode()).hexdigest()


def _digest_of_one(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class JsonLines(Table):
    """A JSONL file. The offsets of its lines are stored, and a line is parsed when its row is needed."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._text: mmap.mmap | bytes = _open_content(path)
        self._starts = array("Q")
        self._ends = array("Q")
        start, num_bytes = 0, len(self._text)
        while start < num_bytes:
            line_break = self._text.find(b"\n", start)
            end = num_bytes if line_break < 0 else line_break
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
            line_number = self._text[: self._starts[index]].count(b"\n") + 1
            where = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else error
            raise InvalidData(f"Line {line_number} of {self.name} is not JSON: {where}.") from error
        return _check_object(row, index, self.name)


class ConcatenatedTable(Table):
    """Several tables, one after the other, as one table."""

    def __init__(self, tables: Sequence[Sequence[Row]]) -> None:
        self._tables = tables
        self._ends = list(accumulate(len(table) for table in tables))

    def __len__(self) -> int:
        return self._ends[-1]

    def row(self, index: int) -> Row:
        """See `Table`."""
        table_index = bisect_right(self._ends, index)
        return self._tables[table_index][index - (self._ends[table_index - 1] if table_index else 0)]


class ArrowTable(Table):
    """An Arrow table, whose rows are converted to Python one at a time."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __len__(self) -> int:
        count: int = self._table.num_rows
        return count

    def row(self, index: int) -> Row:
        """See `Table`."""
        row: Row = self._table.slice(index, 1).to_pylist()[0]
        return row


def _open_content(path: Path) -> mmap.mmap | bytes:
    if path.name.lower().endswith(".gz"):
        try:
            return gzip.decompress(path.read_bytes())
        except (OSError, EOFError) as error:
            raise InvalidData(f"{path.name} is not a whole gzip file: {error}") from error
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""


def _read_text(path: Path) -> str:
    try:
        return bytes(_open_content(path)).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidData(f"{path.name} is not UTF-8: {error}") from error


def _check_object(row: object, index: int, name: str) -> Row:
    if not isinstance(row, dict):
        raise InvalidData(f'Row {index} of {name} is {type(row).__name__}, not an object such as {{"problem": ...}}.')
    return row


def _read_json(path: Path) -> Sequence[Row]:
    try:
        rows = json.loads(_read_text(path))
    except ValueError as error:
        raise InvalidData(f"{path.name} is not JSON: {error}") from error
    if not isinstance(rows, list):
        raise InvalidData(f"{path.name} has to hold a list of objects; one object on each line goes into a .jsonl.")
    return [_check_object(row, index, path.name) for index, row in enumerate(rows)]


def _read_csv(path: Path, delimiter: str) -> Sequence[Row]:
    csv.field_size_limit(MAX_FIELD_CHARS)
    reader = csv.DictReader(io.StringIO(_read_text(path), newline=""), delimiter=delimiter, strict=True)
    rows = []
    try:
        for index, row in enumerate(reader):
            if None in row or None in row.values():
                raise InvalidData(f"Row {index} of {path.name} has not as many values as there are columns.")
            rows.append(dict(row))
    except csv.Error as error:
        raise InvalidData(f"Line {reader.line_num} of {path.name} cannot be read: {error}") from error
    return rows


def _read_parquet(path: Path) -> Sequence[Row]:
    arrow: Any = import_module("pyarrow")  # imported here because it is large, and only these files need it
    parquet: Any = import_module("pyarrow.parquet")
    try:
        return ArrowTable(parquet.read_table(path, memory_map=True))
    except (arrow.ArrowException, OSError) as error:
        raise InvalidData(f"{path.name} is not a Parquet file: {error}") from error


def _read_arrow(path: Path) -> Sequence[Row]:
    """Read Arrow's file format or its stream format, which have the same extensions."""
    arrow: Any = import_module("pyarrow")
    try:
        try:
            return ArrowTable(arrow.ipc.open_file(arrow.memory_map(str(path))).read_all())
        except arrow.ArrowException:
            return ArrowTable(arrow.ipc.open_stream(arrow.memory_map(str(path))).read_all())
    except (arrow.ArrowException, OSError) as error:
        raise InvalidData(f"{path.name} is not an Arrow file: {error}") from error


def _require_arrow(reader: Callable[[Path], Sequence[Row]], path: Path) -> Sequence[Row]:
    try:
        return reader(path)
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise DataUnavailable(f"Reading {path.name} needs the package pyarrow: pip install pyarrow") from error


READERS: Mapping[str, Callable[[Path], Sequence[Row]]] = {
    ".jsonl": JsonLines,
    ".ndjson": JsonLines,
    ".json": _read_json,
    ".csv": partial(_read_csv, delimiter=","),
    ".tsv": partial(_read_csv, delimiter="\t"),
    ".parquet": partial(_require_arrow, _read_parquet),
    ".arrow": partial(_require_arrow, _read_arrow),
    ".feather": partial(_require_arrow, _read_arrow),
}
"""Extension to the function that reads such a file."""
