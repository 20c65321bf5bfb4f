"""Pictures as `data:` addresses, which a page shows under a strict policy and an endpoint takes as they are."""

from __future__ import annotations

import base64
import binascii

from gem.errors import InvalidData

LARGEST = 4 * 2**20
"""Bytes of a picture."""
KINDS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
"""How a file begins, and what it is. SVG is not among them: it may hold scripts."""


def data_address(picture: object) -> str:
    """`data:image/png;base64,...` of a picture's bytes, or of such an address, which is checked.

    Raises:
        InvalidData: if it is no PNG, JPEG, GIF or WebP, or larger than 4 MiB.
    """
    content = _content(picture)
    if len(content) > LARGEST:
        raise InvalidData(f"A picture has {len(content):,} bytes; at most {LARGEST:,} can be shown.")
    return f"data:{kind_of(content)};base64,{base64.b64encode(content).decode()}"


def kind_of(content: bytes) -> str:
    """The media type, from how the file begins.

    Raises:
        InvalidData: if it is none of those that can be shown.
    """
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    for start, kind in KINDS.items():
        if content.startswith(start):
            return kind
    raise InvalidData("A picture must be a PNG, JPEG, GIF or WebP file.")


def _content(picture: object) -> bytes:
    if isinstance(picture, bytes):
        return picture
    if isinstance(picture, str) and picture.startswith("data:"):
        try:
            return base64.b64decode(picture.partition(",")[2], validate=True)
        except binascii.Error as error:
            raise InvalidData(f"A picture's data: address cannot be read: {error}") from error
    raise InvalidData(f"A picture must be bytes or a data: address, not {type(picture).__name__}.")
