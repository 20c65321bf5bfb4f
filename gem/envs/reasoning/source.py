"""The door to the process that holds ReasoningGym (see `helper`): started when a problem is first asked for.

There is one for each process that plays. It takes seconds to start, once; nobody else waits meanwhile. Importing the
package here would change the hash seed of nothing and the global generators of everything.
"""

from __future__ import annotations

from typing import Any

from gem.processes import HelperProcess

FOLDER = "gem-reasoning-"
"""Some problems of codeio write files where they are: there."""
_source = HelperProcess("gem.envs.reasoning.helper", "The process that makes ReasoningGym's problems", folder=FOLDER)


def ask(do: str, **request: Any) -> dict[str, Any]:
    """As `Helper.ask`, of this process's own helper."""
    return _source.call(do=do, **request)


def close() -> None:
    """End this process's helper, if there is one."""
    _source.close()
