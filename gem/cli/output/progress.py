"""How far an evaluation is, while it runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gem.records import EpisodeRecord


def show_progress(records: Iterator[EpisodeRecord], done_count: int, total: int) -> Iterator[EpisodeRecord]:
    """Yield the records and print the progress to stderr, ten times a second in a terminal, else every ten seconds."""
    is_terminal = sys.stderr.isatty()
    interval_seconds = 0.1 if is_terminal else 10.0
    start = last_print = time.monotonic()
    first_count = done_count
    for record in records:
        yield record
        done_count += 1
        now = time.monotonic()
        if now - last_print >= interval_seconds or (is_terminal and done_count == total):
            last_print = now
            rate = (done_count - first_count) / max(now - start, 1e-9)
            text = f"{done_count:,} of {total:,} episodes, {rate:,.0f} per second"
            print(f"\r{text}" if is_terminal else text, end="" if is_terminal else "\n", file=sys.stderr, flush=True)
    if is_terminal and done_count > first_count:
        print(file=sys.stderr)
