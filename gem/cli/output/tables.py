"""Tables, which all commands print."""

from __future__ import annotations

from gem.cli.output.terminal import printable


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
