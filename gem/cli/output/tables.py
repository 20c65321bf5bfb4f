"""Tables, which all commands print, and texts of others, which must not steer the terminal."""

from __future__ import annotations

import re

_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters except for line breaks and tabs, and those that change the direction of the text."""


def table(headings: list[str], rows: list[list[str]]) -> None:
    """Print columns of plain text, the first one aligned to the left and the others to the right."""
    lines = [[printable(cell).replace("\n", " ").replace("\t", " ") for cell in row] for row in [headings, *rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headings))]
    for row in lines:
        cells = [
            text.ljust(width) if i == 0 else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def printable(text: str) -> str:
    """Return a text that somebody else may have written, with U+FFFD in place of what could steer the terminal."""
    return _STEERING.sub("\ufffd", text)
