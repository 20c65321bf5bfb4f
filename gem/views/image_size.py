"""How many pixels a picture has when it is decoded, by the headers of its file. Nothing is decompressed.

A file of some kilobytes can state any width and height, and who decodes it reserves memory for all of them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping

from gem.errors import InvalidData

START_OF_FRAME = {0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}
"""Segments of a JPEG file that state its size."""


def pixels(content: bytes, media_type: str) -> int:
    """The number of pixels of all frames of a picture together.

    Raises:
        InvalidData: if the headers cannot be read.
    """
    try:
        width, height, frames = SIZES[media_type](content)
    except (struct.error, IndexError, StopIteration) as error:
        raise InvalidData("A picture is damaged: its size cannot be read.") from error
    return width * height * max(1, frames)


def _png(content: bytes) -> tuple[int, int, int]:
    width, height = struct.unpack_from(">II", content, 16)
    frames, place = 1, 8
    while place + 8 <= len(content):
        size, kind = struct.unpack_from(">I4s", content, place)
        if kind == b"acTL":  # of an animation
            frames = struct.unpack_from(">I", content, place + 8)[0]
        place += 12 + size
    return width, height, frames


def _jpeg(content: bytes) -> tuple[int, int, int]:
    place = 2
    while True:
        while content[place] == 0xFF:
            place += 1
        size, height, width = struct.unpack_from(">HxHH", content, place + 1)
        if content[place] in START_OF_FRAME:
            return width, height, 1
        place += 1 + size


def _gif(content: bytes) -> tuple[int, int, int]:
    width, height, flags = struct.unpack_from("<HHB", content, 6)
    frames, place = 0, 13 + _colours(flags)
    while place < len(content) and content[place] != 0x3B:
        if content[place] == 0x2C:
            frame_width, frame_height, flags = struct.unpack_from("<HHB", content, place + 5)
            width, height = max(width, frame_width), max(height, frame_height)
            frames, place = frames + 1, place + 11 + _colours(flags)
        else:
            place += 2
        while content[place]:
            place += 1 + content[place]
        place += 1
    return width, height, frames


def _colours(flags: int) -> int:
    """Size of a table of colours in a GIF file."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _webp(content: bytes) -> tuple[int, int, int]:
    chunks = list(_webp_chunks(content))
    frames = sum(kind == b"ANMF" for kind, _ in chunks)
    kind, place = next(chunk for chunk in chunks if chunk[0] in (b"VP8X", b"VP8L", b"VP8 "))
    if kind == b"VP8X":
        width, height = (int.from_bytes(content[place + at : place + at + 3], "little") + 1 for at in (4, 7))
    elif kind == b"VP8L":
        bits = struct.unpack_from("<I", content, place + 1)[0]
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    else:
        width, height = (size & 0x3FFF for size in struct.unpack_from("<HH", content, place + 6))
    return width, height, frames


def _webp_chunks(content: bytes) -> Iterator[tuple[bytes, int]]:
    """The kinds of the chunks, and where their contents begin."""
    place = 12
    while place + 8 <= len(content):
        kind, size = struct.unpack_from("<4sI", content, place)
        yield kind, place + 8
        place += 8 + size + size % 2


SIZES: Mapping[str, Callable[[bytes], tuple[int, int, int]]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
}
"""What reads width, height and the number of frames of each kind of file."""
