"""Texts between tags, found in one pass however the tags are strewn: an agent's text may be made to be slow to read."""

from __future__ import annotations

from typing import NamedTuple


class Tagged(NamedTuple):
    """What stands between two tags."""

    text: str
    start: int
    """Where the opening tag begins."""
    end: int
    """Where the closing tag ends."""


def between(text: str, opening: str, closing: str, after: int = 0) -> Tagged | None:
    """The first complete pair of tags from `after` on."""
    start = text.find(opening, after)
    stop = text.find(closing, start + len(opening)) if start >= 0 else -1
    if stop < 0:
        return None
    return Tagged(text[start + len(opening) : stop], start, stop + len(closing))
