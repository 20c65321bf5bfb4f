"""What a process of pytest-xdist tells the controller of each test: what is printed and counted, and no more.

Six messages for each of ten thousand tests took 3 % of all computing. Half of them say that a test begins, and that its
fixtures were set up and taken down without an error.
"""

from __future__ import annotations

from typing import Any

import pytest


def send_less(config: pytest.Config) -> None:
    """Leave these messages out, unless somebody wants to see more than a dot for each test."""
    option = config.option
    if option.verbose > 0 or option.durations is not None or option.xmlpath:
        return
    for plugin in config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor":
            _filter(plugin)


def _filter(interactor: Any) -> None:
    send = interactor.sendevent

    def sendevent(name: str, **message: Any) -> None:
        if name != "logstart" and not (name == "testreport" and _is_of_a_fixture_that_works(message["data"])):
            send(name, **message)

    interactor.sendevent = sendevent


def _is_of_a_fixture_that_works(report: dict[str, Any]) -> bool:
    return report["when"] != "call" and report["outcome"] == "passed"
