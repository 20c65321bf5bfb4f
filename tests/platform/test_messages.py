"""What a process of tests leaves out of what it tells, and what never."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.messages import send_less

REPORTS = [
    ("logstart", {}), ("testreport", {"when": "setup", "outcome": "passed"}),
    ("testreport", {"when": "setup", "outcome": "failed"}), ("testreport", {"when": "setup", "outcome": "skipped"}),
    ("testreport", {"when": "call", "outcome": "passed"}), ("testreport", {"when": "call", "outcome": "failed"}),
    ("testreport", {"when": "teardown", "outcome": "passed"}),
    ("testreport", {"when": "teardown", "outcome": "failed"}), ("logfinish", {}), ("runtest_protocol_complete", {}),
]  # fmt: skip


class WorkerInteractor:
    """Takes what pytest-xdist's plugin of this name sends."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []

    def sendevent(self, name: str, **message: Any) -> None:
        self.sent.append((name, message["data"]))


@pytest.mark.parametrize("asked", [{}, {"verbose": 1}, {"durations": 5}, {"xmlpath": "report.xml"}], ids=str)
def test_only_what_works_is_left_out_and_only_where_nobody_asks_for_more(asked: dict[str, Any]) -> None:
    interactor = WorkerInteractor()
    option = SimpleNamespace(**{"verbose": -1, "durations": None, "xmlpath": None} | asked)
    config: Any = SimpleNamespace(
        option=option, pluginmanager=SimpleNamespace(get_plugins=lambda: [object(), interactor])
    )
    send_less(config)
    for name, data in REPORTS:
        interactor.sendevent(name, data=data)
    left_out = [] if asked else [REPORTS[0], REPORTS[1], REPORTS[6]]
    assert interactor.sent == [report for report in REPORTS if report not in left_out]
