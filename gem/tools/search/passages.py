"""Passages: what a search finds, from an index here or from a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Passage(NamedTuple):
    """A piece of text that can be found."""

    title: str
    text: str
    score: float = 0.0


def passage_of(row: Mapping[str, Any]) -> Passage:
    r"""A row of a corpus: `{"title": ..., "text": ...}`, or `{"contents": "title\ntext"}` as in GEM's.

    Raises:
        ValueError: if it is neither.
    """
    contents = row.get("contents")
    if isinstance(contents, str):
        first_line, _, rest = contents.partition("\n")
        return Passage(first_line, rest)
    title, text = row.get("title", ""), row.get("text")
    if not isinstance(title, str) or not isinstance(text, str):
        raise ValueError("it has neither a text nor contents")
    return Passage(title, text)
