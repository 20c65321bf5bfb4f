"""A shell in a sandbox; importing it registers its environments, whose module is imported when one is made."""

from typing import Any

from gem.registry import register

TURNS = {"easy": 15, "medium": 25, "hard": 40}
"""The turn limit of each difficulty."""
_CLASS = "gem.envs.terminal.terminal:Terminal"
_ALIKE: dict[str, Any] = {
    "replay": "taped", "cost": "slow", "obstacle": "gem.sandbox.shell:obstacle", "board": "terminal"
}  # fmt: skip

register("terminal:Shell-v0", _CLASS, **_ALIKE, level="easy", max_turns=25)
for _level, _turns in TURNS.items():
    register(f"terminal:Shell-v0-{_level}", _CLASS, **_ALIKE, level=_level, max_turns=_turns)
