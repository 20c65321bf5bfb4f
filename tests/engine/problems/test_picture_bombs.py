"""Pictures that are small as files and huge when they are shown are refused by their headers."""

import io
import struct
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import gem
from gem.errors import InvalidData
from gem.views.image_size import pixels
from gem.views.images import data_url

Image = pytest.importorskip("PIL.Image", reason="pictures are made with Pillow")


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width: int, height: int, *more: bytes) -> bytes:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return (
        b"\x89PNG\r\n\x1a\n"
        + header
        + b"".join(more)
        + chunk(b"IDAT", zlib.compress(bytes(1000)))
        + chunk(b"IEND", b"")
    )


def encoded(kind: str, width: int, height: int, frames: int = 1, **more: Any) -> bytes:
    file = io.BytesIO()
    pictures = [
        Image.new("RGB", (width, height), (50 * number % 256, 255 - 60 * number % 256, number))
        for number in range(frames)
    ]
    several = {"save_all": True, "append_images": pictures[1:]} if frames > 1 else {}
    pictures[0].save(file, kind, **several, **more)
    return file.getvalue()


def with_size(content: bytes, old: bytes, new: bytes) -> bytes:
    assert old in content
    return content.replace(old, new, 1)


SIDE = 0xFFFF
JPEG = with_size(encoded("JPEG", 40, 30), struct.pack(">HH", 30, 40), struct.pack(">HH", SIDE, SIDE))
GIF = with_size(encoded("GIF", 40, 30), struct.pack("<HH", 40, 30), struct.pack("<HH", SIDE, SIDE))
GIF_FRAME = (
    GIF[:6]
    + struct.pack("<HH", 1, 1)
    + with_size(encoded("GIF", 40, 30)[10:], struct.pack("<HH", 40, 30), struct.pack("<HH", SIDE, SIDE))
)
FRAMES = encoded("GIF", 40, 30, 60).replace(struct.pack("<HH", 40, 30), struct.pack("<HH", 1000, 1000))
WEBP = encoded("WEBP", 40, 30, lossless=True)
WEBP = WEBP[:21] + struct.pack("<I", 16383 | 16383 << 14) + WEBP[25:]
BOMBS: dict[str, Callable[[], bytes]] = {
    "PNG of 10^5 x 10^5": partial(png, 10**5, 10**5),
    "PNG of 2^31 x 2^31": partial(png, 2**31 - 1, 2**31 - 1),
    "APNG of 10^6 frames": partial(png, 1000, 1000, chunk(b"acTL", struct.pack(">II", 10**6, 0))),
    "JPEG of 65,535 x 65,535": lambda: JPEG,
    "GIF of 65,535 x 65,535": lambda: GIF,
    "GIF with a frame larger than itself": lambda: GIF_FRAME,
    "GIF of 60 frames of 1,000 x 1,000": lambda: FRAMES,
    "WebP of 16,384 x 16,384": lambda: WEBP,
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_picture_that_is_huge_when_it_is_shown_is_refused(bomb: str) -> None:
    content = BOMBS[bomb]()
    with pytest.raises(InvalidData, match=r"pixels in all its frames; at most 50,000,000 can be shown"):
        data_url(content)
    env = gem.make("math:Geometry3K", dataset=[{"problem": "?", "answer": "1", "images": [content]}])
    with pytest.raises(InvalidData):
        env.reset(seed=0)
    print(f"{bomb}: {len(content):,} bytes")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
@pytest.mark.parametrize(("width", "height", "frames"), [(1, 1, 1), (640, 480, 1), (300, 20, 3)])
def test_the_size_of_an_honest_picture_is_read(kind: str, width: int, height: int, frames: int) -> None:
    frames = 1 if kind == "JPEG" else frames
    content = encoded(kind, width, height, frames)
    assert pixels(content, f"image/{kind.lower()}") == width * height * frames
    assert data_url(content).startswith(f"data:image/{kind.lower()};base64,")


@pytest.mark.parametrize("options", [{"lossless": True}, {"quality": 50}, {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0"}])
def test_every_kind_of_webp_is_read(options: dict[str, Any]) -> None:
    assert pixels(encoded("WEBP", 123, 45, **options), "image/webp") == 123 * 45


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_picture_cut_short_is_damaged_or_small(kind: str) -> None:
    content = encoded(kind, 64, 64)
    for end in range(12, len(content)):
        try:
            assert pixels(content[:end], f"image/{kind.lower()}") <= 64 * 64
        except InvalidData as error:
            assert "damaged" in str(error)  # noqa: PT017 (most prefixes still state their size)
