"""The table of attacks at the end of a run: how many of each kind the tests tried.

A test calls `counted("hostile values", 412)`. With several processes the numbers travel with the reports of the tests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

import pytest

Counted: TypeAlias = Callable[[str, int], None]
"""What the fixture `counted` is."""
COUNTED = "counted"


@pytest.fixture
def counted(record_property: Callable[[str, object], None]) -> Counted:
    """Adds a number to an attack's row of the table."""
    return lambda attack, number: record_property(COUNTED, [attack, number])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table."""
    totals: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") != "call":
                continue
            for name, value in report.user_properties:
                if name == COUNTED:
                    totals[value[0]] += value[1]
    if totals:
        terminalreporter.section("attacks")
        for attack, number in sorted(totals.items()):
            terminalreporter.line(f"{attack}: {number:,}")
