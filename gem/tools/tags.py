"""Finds text between tags in one pass, so that no text, however many tags it has, takes long to search."""

from __future__ import annotations

from typing import NamedTuple


class TaggedText(NamedTuple):
    """The text between two tags."""

    text: str
    start: int
    """Index at which the opening tag begins."""
    end: int
    """Index at which the closing tag ends."""


def find_tagged(text: str, opening: str, closing: str, start: int = 0) -> TaggedText | None:
    """The first complete pair of tags from the index `start` on."""
    begin = text.find(opening, start)
    stop = text.find(closing, begin + len(opening)) if begin >= 0 else -1
    if stop < 0:
        return None
    return TaggedText(text[begin + len(opening) : stop], begin, stop + len(closing))
