"""The environments whose episodes programs of others play."""

from __future__ import annotations

from collections.abc import Iterator

import gem
from gem.registry import EnvSpec


def playable(cost: str) -> Iterator[EnvSpec]:
    """The environments of the catalog with one seat that replay exactly and are there on this machine."""
    for spec in gem.registry.specs():
        if (spec.cost, spec.seats, spec.replay) == (cost, 1, "exact") and not spec.missing_packages():
            yield spec


FEW = {"game:GuessTheNumber-v0-easy": 0, "game:Sokoban-v0-easy": 3, "game:Minesweeper-v0-easy": 0, "math:Drawn-v0": 0}
"""Environments with seeds at which random actions soon end the episode: at its limit, solved, lost, and in one turn."""
