"""Pictures as `data:` URLs, which pages may show under a strict content security policy and endpoints accept."""

from __future__ import annotations

import base64
import binascii

from gem.errors import InvalidData
from gem.views.image_size import pixels

MAX_BYTES = 4 * 2**20
"""The maximum size of a picture."""
MAX_PIXELS = 50_000_000
"""The most pixels of all frames of a picture together; a browser needs four bytes for each."""
SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
"""The first bytes of a file to its media type. SVG is not allowed, because it may contain scripts."""


def data_url(picture: object) -> str:
    """Return a picture as `data:image/png;base64,...`; it may be given as bytes or as such a URL, which is checked.

    Raises:
        InvalidData: if it is not a PNG, JPEG, GIF or WebP, or larger than 4 MiB or 50 million pixels.
    """
    content = _content(picture)
    if len(content) > MAX_BYTES:
        raise InvalidData(f"A picture has {len(content):,} bytes; at most {MAX_BYTES:,} can be shown.")
    kind = media_type(content)
    number = pixels(content, kind)
    if number > MAX_PIXELS:
        raise InvalidData(f"A picture has {number:,} pixels in all its frames; at most {MAX_PIXELS:,} can be shown.")
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def media_type(content: bytes) -> str:
    """Return the media type of a file by its first bytes.

    Raises:
        InvalidData: if it is not one of those that can be shown.
    """
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    for signature, name in SIGNATURES.items():
        if content.startswith(signature):
            return name
    raise InvalidData("A picture must be a PNG, JPEG, GIF or WebP file.")


def _content(picture: object) -> bytes:
    if isinstance(picture, bytes):
        return picture
    if isinstance(picture, str) and picture.startswith("data:"):
        try:
            return base64.b64decode(picture.partition(",")[2], validate=True)
        except binascii.Error as error:
            raise InvalidData(f"A picture's data: URL cannot be read: {error}") from error
    raise InvalidData(f"A picture must be bytes or a data: URL, not {type(picture).__name__}.")
