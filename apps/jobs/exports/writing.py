"""Files made of parts: CSV as it comes from Postgres, JSON Lines and Parquet by way of Arrow."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import compute, csv, parquet

from apps.accounts.models import Viewer
from apps.jobs.exports.about import about
from apps.jobs.exports.arrow import field_of
from apps.jobs.exports.reading import parts
from apps.jobs.exports.tables import TABLES, Column, Format, TableName
from apps.jobs.models import Job

METADATA = b"gemweb"
"""The key in the metadata of a Parquet file under which it says what it is."""


def streamed(job: Job, table: TableName, form: Format, viewer: Viewer) -> Iterator[bytes]:
    """The file with a table of a job, in pieces, as this person may see it."""
    columns = TABLES[table]
    rows = parts(job, table, viewer)
    if form == "csv":
        return _csv(rows, columns)
    if form == "jsonl":
        return _jsonl(rows, columns)
    return _parquet(rows, columns, about(job, table, viewer))


def schema_of(columns: Sequence[Column], about_it: Mapping[str, Any] | None = None) -> pa.Schema:
    """The schema of a table with the descriptions of its columns, as Parquet stores it."""
    metadata = {METADATA: json.dumps(about_it).encode()} if about_it else None
    return pa.schema([field_of(column) for column in columns], metadata=metadata)


def _csv(rows: Iterator[pa.Table], columns: Sequence[Column]) -> Iterator[bytes]:
    yield (",".join(column.name for column in columns) + "\n").encode()
    options = csv.WriteOptions(include_header=False)
    for table in rows:
        sink = pa.BufferOutputStream()
        csv.write_csv(_with_texts(table, columns), sink, options)
        yield sink.getvalue().to_pybytes()


def _jsonl(rows: Iterator[pa.Table], columns: Sequence[Column]) -> Iterator[bytes]:
    documents = [column.name for column in columns if column.type == "json"]
    for table in rows:
        yield b"".join(_line(row, documents) for row in _with_texts(table, columns).to_pylist())


def _line(row: dict[str, Any], documents: Sequence[str]) -> bytes:
    for name in documents:
        row[name] = None if row[name] is None else json.loads(row[name])
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _with_texts(table: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """The table with times as texts, as ISO 8601 writes them."""
    for number, column in enumerate(columns):
        if column.type == "time":
            texts = compute.strftime(table.column(number), "%Y-%m-%dT%H:%M:%SZ")
            table = table.set_column(number, column.name, texts)
    return table


def _parquet(rows: Iterator[pa.Table], columns: Sequence[Column], about_it: Mapping[str, Any]) -> Iterator[bytes]:
    sink = _Sink()
    schema = schema_of(columns, about_it)
    with parquet.ParquetWriter(pa.PythonFile(sink, mode="w"), schema, compression="zstd") as writer:
        for table in rows:
            writer.write_table(table.cast(schema))
            yield sink.take()
    yield sink.take()


class _Sink:
    """A file that is only appended to, and whose content is taken away as it grows."""

    closed = False

    def __init__(self) -> None:
        self._position = 0
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        """Append."""
        piece = bytes(data)
        self._pieces.append(piece)
        self._position += len(piece)
        return len(piece)

    def tell(self) -> int:
        """How many bytes were written."""
        return self._position

    def flush(self) -> None:
        """Do nothing: what was written is taken away by `take`."""

    def close(self) -> None:
        """Do nothing: the last piece is still to be taken."""

    def take(self) -> bytes:
        """What was written since the last call."""
        data, self._pieces = b"".join(self._pieces), []
        return data
