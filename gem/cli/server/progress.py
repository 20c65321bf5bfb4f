"""A bar that shows how far something is, on a terminal; nothing elsewhere, so that files and pipes stay clean."""

from __future__ import annotations

import importlib.util
import sys
from types import TracebackType
from typing import Any, Self


class ProgressBar:
    """A bar on standard error while the block lasts; with the package `rich` it moves, otherwise it is a line of text.

    Args:
        label: what is done.
        unit: what is counted: `bytes`, or a noun in the plural.
    """

    def __init__(self, label: str, unit: str = "bytes") -> None:
        self.label, self.unit = label, unit
        self.is_shown = sys.stderr.isatty()
        self._rich: Any = None
        self._task: Any = None
        self._line = ""

    def __enter__(self) -> Self:
        if self.is_shown and importlib.util.find_spec("rich") is not None:
            self._rich = _rich_bar(self.unit)
            self._rich.start()
            self._task = self._rich.add_task(self.label, total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._rich is not None:
            self._rich.stop()
        elif self._line:
            print(file=sys.stderr)

    def __call__(self, done: int, total: int | None) -> None:
        """Show that `done` of `total` units are done; None if the total is not known."""
        if self._rich is not None:
            self._rich.update(self._task, completed=done, total=total)
        elif self.is_shown:
            of = "" if total is None else f" of {total:,}"
            line = f"{self.label}: {done:,}{of} {self.unit}"
            if line != self._line:
                self._line = line
                print(f"\r{line}", end="", file=sys.stderr, flush=True)


def _rich_bar(unit: str) -> Any:
    from rich import progress  # noqa: PLC0415 (rich is optional)
    from rich.console import Console  # noqa: PLC0415 (as above)

    counted = progress.DownloadColumn() if unit == "bytes" else progress.MofNCompleteColumn()
    console = Console(stderr=True)
    columns = [progress.TextColumn("{task.description}"), progress.BarColumn(), counted]
    remaining = progress.TimeRemainingColumn()
    # Where the output goes to a file, rich must not take it to the terminal.
    return progress.Progress(
        *columns, remaining, console=console, transient=True, redirect_stdout=sys.stdout.isatty(), redirect_stderr=False
    )
