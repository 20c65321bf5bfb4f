"""A shell in a sandbox; importing this package registers its environments. Begin reading at `terminal` and `task`.

`terminal` itself is only imported when an environment is made.
"""

from typing import Any

from gem.registry import register

TURNS = {"easy": 15, "medium": 25, "hard": 40}
"""The turn limit of each difficulty."""
VERSIONS = {"easy": 2, "medium": 1, "hard": 2}
"""Version 2: the packed files of two tasks have the same bytes on every machine."""
_CLASS = "gem.envs.terminal.terminal:Terminal"
_COMMON: dict[str, Any] = {
    "replay": "taped", "cost": "slow", "obstacle": "gem.sandbox.shell:obstacle", "board": "terminal"
}  # fmt: skip

register("terminal:Shell-v0", _CLASS, **_COMMON, version=VERSIONS["easy"], level="easy", max_turns=25)
for _level, _turns in TURNS.items():
    register(f"terminal:Shell-v0-{_level}", _CLASS, **_COMMON, version=VERSIONS[_level], level=_level, max_turns=_turns)
