"""Pages as tests read them."""

from __future__ import annotations

import asyncio
import re
from typing import Any

_VERBATIM = re.compile(r"(<(pre|textarea)\b.*?</\2>)", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")
_BESIDE_A_TAG = re.compile(r"\s*\n\s*(?=<)|(?<=>)\s*\n\s*")


def tight(page: Any) -> str:
    """An answer or its HTML without the line breaks that templates have between elements, attributes and words.

    Beside a tag a line break goes, within a tag or a text it becomes a space; `pre` and `textarea` stay as they are.
    """
    html = page if isinstance(page, str) else page.content.decode()
    parts = _VERBATIM.split(html)
    texts = [_tight(part) for part in parts[::3]]
    verbatim = [*parts[1::3], ""]
    return "".join(text + kept for text, kept in zip(texts, verbatim, strict=True))


def _tight(html: str) -> str:
    html = _TAG.sub(lambda tag: re.sub(r"[ \t\n\r\f]+", " ", tag[0]).replace(" >", ">"), html)
    return re.sub(r"\s*\n\s*", " ", _BESIDE_A_TAG.sub("", html)).strip()


def whole_of(answer: Any) -> bytes:
    """The body of an answer that is sent in pieces."""

    async def read() -> bytes:
        return b"".join([piece async for piece in answer.streaming_content])

    return asyncio.run(read())
