"""Asks the process that runs ReasoningGym (see `helper`), which is started with the first request.

Each process that plays has one of its own, which takes seconds to start. The package is not imported here, because its
problems need another hash seed and it would change the global random generators of this process.
"""

from __future__ import annotations

from typing import Any

from gem.processes import HelperProcess

FOLDER = "gem-reasoning-"
"""The prefix of the helper's temporary working directory, into which some problems of codeio write files."""

_source = HelperProcess("gem.envs.reasoning.helper", "The process that makes ReasoningGym's problems", folder=FOLDER)


def ask(do: str, **request: Any) -> dict[str, Any]:
    """Ask this process's own helper (see `HelperProcess.call`)."""
    return _source.call(do=do, **request)


def close() -> None:
    """End this process's own helper, if there is one."""
    _source.close()
