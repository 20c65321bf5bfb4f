"""Tables and numbers with nouns, which all commands print."""

from __future__ import annotations


def table(headings: list[str], rows: list[list[str]]) -> None:
    """Print columns of plain text, the first one aligned to the left and the others to the right."""
    widths = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
    for row in [headings, *rows]:
        cells = [
            text.ljust(width) if i == 0 else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
