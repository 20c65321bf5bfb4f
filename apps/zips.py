"""Zip archives that are sent while they are written: none is on the disk, and little of one is in memory."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import gmtime
from typing import IO, cast

PIECE_BYTES = 64 * 1024
"""Pieces are at least as large, except the last one."""
FILE_BYTES = 1 << 20
"""How many bytes of a file are read at once."""


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file of an archive."""

    path: str
    parts: Iterable[bytes]
    compressed: bool = True


def streamed(files: Iterable[ExportedFile]) -> Iterator[bytes]:
    """An archive of these files, in pieces."""
    sink = _Sink()
    with zipfile.ZipFile(cast("IO[bytes]", sink), "w") as archive:  # it writes to the sink in order and never goes back
        for file in files:
            with _begin(archive, file.path, compressed=file.compressed) as (_, out):
                for part in file.parts:
                    out.write(part)
                    if sink.size >= PIECE_BYTES:
                        yield sink.take()
    yield sink.take()


def stored_size(sizes: dict[str, int]) -> int:
    """The size in bytes of the archive that `streamed` makes of files that are not compressed, by path and size."""
    sink = _Sink()
    with zipfile.ZipFile(cast("IO[bytes]", sink), "w") as archive:
        for path, size in sizes.items():
            with _begin(archive, path, compressed=False) as (info, _):
                sink.position += size
            info.file_size = info.compress_size = size  # the directory at the end depends on it
    return sink.position


def content_of(path: Path) -> Iterator[bytes]:
    """The content of a file in pieces; nothing if it has been deleted."""
    try:
        with path.open("rb") as file:
            while chunk := file.read(FILE_BYTES):
                yield chunk
    except FileNotFoundError:
        return


@contextmanager
def _begin(archive: zipfile.ZipFile, path: str, *, compressed: bool) -> Iterator[tuple[zipfile.ZipInfo, IO[bytes]]]:
    info = zipfile.ZipInfo(path, gmtime()[:6])
    info.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with archive.open(info, "w", force_zip64=True) as out:
        yield info, out


class _Sink:
    """A file that can only be written to, whose content is taken away as it grows."""

    def __init__(self) -> None:
        self.size = self.position = 0
        self._pieces: list[bytes] = []

    def write(self, data: bytes, /) -> int:
        """Append."""
        self._pieces.append(bytes(data))
        self.size += len(data)
        self.position += len(data)
        return len(data)

    def tell(self) -> int:
        """How many bytes precede the next one."""
        return self.position

    def flush(self) -> None:
        """Do nothing: everything is in memory."""

    def take(self) -> bytes:
        """What was written since the last call."""
        data, self._pieces, self.size = b"".join(self._pieces), [], 0
        return data
