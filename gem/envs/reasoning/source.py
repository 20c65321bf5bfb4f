"""Asks the process that runs ReasoningGym (see `helper`), which is started with the first request.

Each process that plays has one of its own, which takes seconds to start. The package is not imported here, because its
problems need another hash seed and it would change the global random generators of this process.
"""

from __future__ import annotations

from collections import deque
from time import monotonic
from typing import Any

from gem.processes import HelperBusy, HelperProcess

FOLDER = "gem-reasoning-"
"""The prefix of the helper's temporary working directory, into which some problems of codeio write files."""

MODULE, NAME = "gem.envs.reasoning.helper", "The process that makes ReasoningGym's problems"
LONGEST_WAIT_SECONDS = 2.0
"""How long the check of a config waits for those of others, where they are made apart."""
CHECK_SECONDS_PER_MINUTE = 20.0
"""The time of all checks in a minute, where they are made apart; after it none begins for a while."""

_source = HelperProcess(MODULE, NAME, folder=FOLDER)
_checker: Checker | None = None


class Checker:
    """Checks configs of many people in a process of its own, for some of the time."""

    def __init__(self) -> None:
        self.helper = HelperProcess(MODULE, NAME, folder=FOLDER, longest_wait_seconds=LONGEST_WAIT_SECONDS)
        self._checks: deque[tuple[float, float]] = deque(maxlen=1000)
        """When the last checks began, and the seconds that each took."""

    def call(self, **request: Any) -> dict[str, Any]:
        """Check a config (see `HelperProcess.call`).

        Raises:
            HelperBusy: if the checks of the last minute took too long.
        """
        began = monotonic()
        if sum(seconds for when, seconds in tuple(self._checks) if when > began - 60) > CHECK_SECONDS_PER_MINUTE:
            raise HelperBusy(f"{NAME} has checked many configs in the last minute.")
        try:
            return self.helper.call(forget=True, **request)
        finally:
            self._checks.append((began, monotonic() - began))


def check_apart() -> None:
    """Check configs in another process than problems are made in, because checks take long and players wait.

    A server that reads configs of other people calls this once.
    """
    global _checker  # noqa: PLW0603 (as the helper, it is one for the process)
    _checker = _checker or Checker()


def ask(do: str, **request: Any) -> dict[str, Any]:
    """Ask this process's own helper (see `HelperProcess.call`)."""
    helper = _checker if do == "describe" and _checker is not None else _source
    return helper.call(do=do, **request)


def close() -> None:
    """End this process's own helpers, if there are any."""
    _source.close()
    if _checker is not None:
        _checker.helper.close()
