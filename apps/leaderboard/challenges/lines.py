"""Reading the file of a challenge line by line, whatever somebody has sent: bounded, and never all at once."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from apps.agents.uploads import MEGABYTE
from gem.records import StoredEpisode, episode_files
from gem.records.episode_files import UnreadableEpisode

GZIP = b"\x1f\x8b"
MAX_LINE_BYTES = 16 * MEGABYTE
"""The longest line. An episode of a thousand turns has some hundred kilobytes."""
MAX_EMPTY_LINES = 1_000
"""Lines without an episode: a file of nothing else would take minutes to read."""
UNPACKED = 8
"""How many times the most that may be sent a file may have when it is unpacked."""


def episodes(path: Path, after: int = 0) -> Iterator[tuple[int, StoredEpisode]]:
    """Yield the number of each line from 1, and its episode, of all lines but the first `after`.

    Raises:
        UnreadableEpisode: if the file is damaged or too large, or a line is no episode.
    """
    empty = 0
    for number, text in _lines(path):
        if text.isspace():
            empty += 1
            if empty > MAX_EMPTY_LINES:
                raise UnreadableEpisode(
                    f"The file, line {number:,}: there are more than {MAX_EMPTY_LINES:,} empty lines."
                )
        elif number > after:
            yield number, episode_files.parse_line(text, f"line {number:,}")


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    most = UNPACKED * settings.RESULT_MEGABYTES * MEGABYTE
    total = number = 0
    with path.open("rb") as packed:
        is_packed = packed.peek(2)[:2] == GZIP
        with gzip.GzipFile(fileobj=packed) if is_packed else packed as content:
            file = io.BufferedReader(content, 1 << 16) if is_packed else content
            try:
                while text := file.readline(MAX_LINE_BYTES + 1):
                    number, total = number + 1, total + len(text)
                    if len(text) > MAX_LINE_BYTES:
                        raise UnreadableEpisode(
                            f"The file, line {number:,} is longer than {MAX_LINE_BYTES // MEGABYTE} MB. Each line has "
                            "one episode."
                        )
                    if total > most:
                        raise UnreadableEpisode(f"The file has more than {most // MEGABYTE:,} MB when it is unpacked.")
                    yield number, text
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise UnreadableEpisode(f"The file is packed with gzip and damaged: {error}.") from error
